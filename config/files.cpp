#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "config/checker.hpp"

namespace sm::config {
namespace {

std::string reason() {
    return std::strerror(errno);
}

void check_readable(Checker& check, const std::string& path, const std::string& file, bool folder = false) {
    if (file.empty()) return;
    const auto unreadable = [&] {
        check.error(path, file + " cannot be read: " + reason(), "check the path and the permissions");
    };
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0) return unreadable();
    if (S_ISDIR(facts.st_mode) != folder) {
        return check.error(path, file + (folder ? " is no folder" : " is a folder"),
                           folder ? "name a folder" : "name a file");
    }
    if (::access(file.c_str(), folder ? R_OK | X_OK : R_OK) != 0) unreadable();
}

void check_key(Checker& check, const std::string& path, const std::string& file) {
    check_readable(check, path, file);
    struct stat facts {};
    if (!file.empty() && ::stat(file.c_str(), &facts) == 0 && (facts.st_mode & S_IROTH) != 0) {
        check.warn(path, file + " can be read by everybody on this machine", "chmod o-r");
    }
}

}  // namespace

void check_files(Loaded& loaded) {
    Checker check(loaded);
    const auto& config = loaded.config;
    for (std::size_t i = 0; i < config.tls.certificates.size(); ++i) {
        const auto path = fmt::format("tls.certificates[{}]", i);
        check_readable(check, path + ".certificate", config.tls.certificates[i].certificate);
        check_key(check, path + ".private_key", config.tls.certificates[i].private_key);
    }
    check_readable(check, "tls.client_ca", config.tls.client_ca);
    if (config.registry.kind == "file") check_readable(check, "registry.path", config.registry.path);
    if (config.registry.kind == "http") check_readable(check, "registry.http.ca", config.registry.http.ca);
    check_readable(check, "plans.directory", config.plans.directory, true);
    if (!config.fleet.redis.empty()) check_readable(check, "fleet.redis_ca", config.fleet.redis_ca);
    for (std::size_t i = 0; config.upstream.kind == "mqtt" && i < config.upstream.targets.size(); ++i) {
        const auto& tls = config.upstream.targets[i].tls;
        const auto path = fmt::format("upstream.targets[{}].tls", i);
        check_readable(check, path + ".ca", tls.ca);
        check_readable(check, path + ".certificate", tls.certificate);
        check_key(check, path + ".private_key", tls.private_key);
    }
    check_readable(check, "admin.certificate", config.admin.certificate);
    check_key(check, "admin.private_key", config.admin.private_key);
    sort_by_place(loaded.errors);
    sort_by_place(loaded.warnings);
}

}  // namespace sm::config
