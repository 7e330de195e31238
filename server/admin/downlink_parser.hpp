#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "protocol/station/downlink.hpp"
#include "server/admin/http.hpp"

namespace sm::admin {

/// A downlink as the admin API takes it (deploy/openapi.yaml, schema Downlink). `has_id` false: the caller gives one.
struct ParsedDownlink {
    protocol::DownlinkRequest request;
    bool has_id = false;
};

/// Reads and checks the body; the whole of it, so that all problems are told at once. Nothing and at least one problem
/// when it cannot be used. Gateway, origin and time are the caller's to fill in.
std::optional<ParsedDownlink> parse_downlink(std::string_view body, std::vector<FieldProblem>& problems);

}  // namespace sm::admin
