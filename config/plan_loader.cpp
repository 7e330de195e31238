#include "config/plan_loader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "config/embedded_plans.hpp"

namespace sm::config {

namespace {

constexpr std::string_view kBuiltIn = "built-in ";

/// Dot files are what editors and ConfigMap mounts leave behind.
bool is_plan_file(const std::filesystem::path& path) {
    if (path.filename().string().starts_with(".")) return false;
    return path.extension() == ".yaml" || path.extension() == ".yml";
}

void load_directory(const std::string& directory, PlanMap& plans, Problems& errors, Problems& warnings,
                    const Environment& environment) {
    namespace fs = std::filesystem;
    std::error_code ec;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(directory, ec), end; !ec && it != end; it.increment(ec)) {
        if (is_plan_file(it->path())) files.push_back(it->path());
    }
    if (ec) {
        errors.push_back({directory, 0, 0, "the folder with channel plans cannot be read: " + ec.message(),
                          "correct plans.directory, or remove it to use the built-in plans"});
        return;
    }
    std::sort(files.begin(), files.end());
    std::map<std::string, std::string> owners;
    for (const fs::path& path : files) {
        std::ifstream in(path, std::ios::binary);
        if (!in || fs::is_directory(path, ec)) {
            errors.push_back({path.string(), 0, 0, "cannot be read", "check the permissions, or remove it"});
            continue;
        }
        const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        const ChannelPlanPtr plan = parse_plan(text, path.string(), errors, warnings, environment);
        if (!plan) continue;
        const auto [owner, fresh] = owners.emplace(plan->name, path.string());
        if (!fresh) {
            errors.push_back({path.string(), 0, 0, "the plan " + plan->name + " is already in " + owner->second,
                              "give one of the two another name"});
            continue;
        }
        plans[plan->name] = plan;
    }
}

}  // namespace

PlanMap load_plans(const std::string& directory, Problems& errors, Problems* warnings, const Environment& environment) {
    PlanMap plans;
    Problems unheard;
    for (const EmbeddedPlan& embedded : embedded_plans()) {
        if (const auto plan = parse_plan(embedded.text, std::string(kBuiltIn) + std::string(embedded.file), errors,
                                         unheard, environment)) {
            plans[plan->name] = plan;
        }
    }
    if (!directory.empty()) load_directory(directory, plans, errors, warnings ? *warnings : unheard, environment);
    return plans;
}

bool is_built_in(const protocol::ChannelPlan& plan) {
    return plan.source.starts_with(kBuiltIn);
}

Problems plan_warnings(const protocol::ChannelPlan& plan) {
    Problems out;
    for (const protocol::PlanFinding& finding : protocol::check_channel_plan(plan)) {
        if (finding.severity != protocol::PlanFinding::Severity::kWarning) continue;
        out.push_back({"", 0, 0, "plan " + plan.name + ", " + finding.field + ": " + finding.message, ""});
    }
    return out;
}

std::string_view built_in_plan_text(std::string_view name) {
    for (const EmbeddedPlan& embedded : embedded_plans()) {
        if (embedded.file.substr(0, embedded.file.rfind('.')) == name) return embedded.text;
    }
    return {};
}

}  // namespace sm::config
