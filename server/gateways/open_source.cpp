#include "server/gateways/open_source.hpp"

namespace sm::gateways {

SourceAnswer OpenSource::find_now(protocol::Eui64 eui) {
    auto record = std::make_shared<Record>();
    record->eui = eui;
    record->tenant = tenant_;
    return {SourceAnswer::Kind::kFound, std::move(record), {}};
}

runtime::Task<std::vector<SourceAnswer>> OpenSource::find(std::vector<protocol::Eui64> euis) {
    std::vector<SourceAnswer> answers;
    answers.reserve(euis.size());
    for (const protocol::Eui64 eui : euis) answers.push_back(find_now(eui));
    co_return answers;
}

}  // namespace sm::gateways
