// Writes records into the store of the folder it is given, round after round, and says which rounds are on disk, until
// it is killed. store_test.cpp kills it.

#include <cstdio>
#include <cstdlib>

#include "server/gateways/store.hpp"

int main(int argc, char** argv) {
    using namespace sm;
    if (argc != 4) return 2;
    config::Cache settings;
    settings.path = argv[1];
    settings.flush_interval = std::chrono::milliseconds{1};
    const auto first_round = std::strtoull(argv[2], nullptr, 10);
    const auto gateways = std::strtoull(argv[3], nullptr, 10);
    gateways::GatewaysProbe probe;
    gateways::Store store(settings, gateways::load_keys(settings, {}), probe, log::Logger());
    store.start();
    for (std::uint64_t round = first_round;; ++round) {
        for (std::uint64_t eui = 1; eui <= gateways; ++eui) {
            auto record = std::make_shared<gateways::Record>();
            record->eui = {eui};
            record->tenant = std::to_string(round);
            record->tags = {{"filler", std::string((eui * 37 + round) % 300, 'x')}};
            store.save(gateways::DatedRecord{record, {static_cast<std::int64_t>(round)}});
            auto memory = std::make_shared<gateways::Memory>();
            memory->connects = round;
            store.save({eui}, memory);
        }
        if (!store.flush(std::chrono::seconds{20})) return 1;
        std::printf("%llu\n", static_cast<unsigned long long>(round));
        std::fflush(stdout);
    }
}
