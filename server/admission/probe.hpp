#pragma once

#include "server/admission/gate.hpp"
#include "server/metrics/page.hpp"

namespace sm::admission {

/// Admission on the metrics page: reads the gate's figures under its lock, once per scrape. Nothing is counted here:
/// the Desk counts where it decides.
void report(const Gate& gate, metrics::Page& page);

}  // namespace sm::admission
