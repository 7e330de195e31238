#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "server/admission/descriptor.hpp"
#include "server/admission/visitor.hpp"
#include "server/runtime/task.hpp"

namespace sm::listener {

/// One open listening socket. Owned by the Door; connections keep the facts alive.
struct Listener {
    admission::Descriptor socket;
    std::shared_ptr<const admission::ListenerFacts> facts;
};

/// Binds and listens; port 0 takes any free one, which the facts then name. The backlog is as deep as the kernel allows:
/// a SYN that is dropped freezes a station for minutes (admission.md §6). Errors: bad address, address in use, permission.
runtime::Result<Listener> open_listener(const config::GatewayListener& settings, int backlog);

/// A socket that is listening already (handed over by a service manager or a predecessor).
runtime::Result<Listener> adopt_listener(int fd, const config::GatewayListener& settings);

}  // namespace sm::listener
