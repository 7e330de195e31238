#include "server/check.hpp"

#include <fstream>
#include <iterator>

#include "config/address.hpp"
#include "server/gateways/gateways_file.hpp"
#include "server/listener/tls_context.hpp"
#include "server/runtime/clock.hpp"

namespace sm {
namespace {

/// The TLS room names files, not lines: its findings stand at the section.
void add(config::Problems& to, const config::Loaded& loaded, const std::vector<std::string>& findings) {
    const auto place = loaded.places.find("tls");
    const auto at = place == loaded.places.end() ? config::Position{} : place->second;
    for (const auto& finding : findings) to.push_back({loaded.file, at.line, at.column, "tls: " + finding, {}});
}

void check_certificates(config::Loaded& loaded) {
    if (loaded.config.tls.certificates.empty()) return;
    std::vector<std::string> hosts;
    for (const auto* uri : {&loaded.config.listen.public_uri, &loaded.config.fleet.instance_uri}) {
        if (const auto parsed = config::parse_uri(*uri); parsed && parsed->scheme == "wss")
            hosts.push_back(parsed->host);
    }
    const auto built = listener::TlsContext::build(loaded.config.tls, hosts, runtime::SystemClock().now().utc);
    add(loaded.errors, loaded, built.problems);
    add(loaded.warnings, loaded, built.warnings);
}

void check_gateways(config::Loaded& loaded) {
    const auto& registry = loaded.config.registry;
    if (registry.kind != "file") return;
    std::ifstream file(registry.path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // Any key does: digests are made and thrown away.
    const gateways::KeyRing keys({"check"});
    auto read = gateways::read_gateways(text, registry.path, keys, registry.default_tenant);
    for (auto& problem : read.problems) loaded.errors.push_back(std::move(problem));
}

}  // namespace

void check_everything(config::Loaded& loaded) {
    const auto before = loaded.errors.size();
    check_files(loaded);
    const bool readable = loaded.errors.size() == before;
    check_plans(loaded);
    if (!readable) return;
    check_certificates(loaded);
    check_gateways(loaded);
}

}  // namespace sm
