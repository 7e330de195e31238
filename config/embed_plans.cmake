# Writes the plan files as one C++ source: cmake -DPLANS_DIR=... -DOUTPUT=... -P embed_plans.cmake
file(GLOB plans "${PLANS_DIR}/*.yaml")
list(SORT plans COMPARE NATURAL)
set(entries "")
foreach(plan IN LISTS plans)
  get_filename_component(name "${plan}" NAME)
  file(READ "${plan}" text)
  string(APPEND entries "    {\"${name}\", R\"plan(${text})plan\"},\n")
endforeach()
file(WRITE "${OUTPUT}.new" "// Generated from config/plans by config/embed_plans.cmake.
#include \"config/embedded_plans.hpp\"

namespace sm::config {

namespace {
constexpr EmbeddedPlan kPlans[] = {
${entries}};
}  // namespace

std::span<const EmbeddedPlan> embedded_plans() noexcept { return kPlans; }

}  // namespace sm::config
")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
