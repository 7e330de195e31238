#include "config/checker.hpp"
#include "config/plan_loader.hpp"
#include "config/suggest.hpp"

namespace sm::config {

void check_plans(Loaded& loaded, const Environment& environment) {
    const auto& plans = loaded.config.plans;
    const auto errors_before = loaded.errors.size();
    const auto known = load_plans(plans.directory, loaded.errors, &loaded.warnings, environment);
    // A plan with errors is left out; saying that it is missing as well would only hide them.
    const bool complete = loaded.errors.size() == errors_before;
    const auto found = known.find(plans.default_plan);
    if (found != known.end()) {
        // Those of the directory's plans are there already.
        if (!is_built_in(*found->second)) return;
        for (auto& warning : plan_warnings(*found->second)) loaded.warnings.push_back(std::move(warning));
    } else if (complete) {
        std::vector<std::string> names;
        for (const auto& [name, plan] : known) names.push_back(name);
        const auto near = nearest(plans.default_plan, names);
        Checker(loaded).error("plans.default", "there is no plan \"" + plans.default_plan + "\"",
                              near.empty() ? "see config/plans for the built-in ones" : "did you mean " + near + "?");
    }
}

}  // namespace sm::config
