#include "server/app.hpp"

#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>

#include "config/plan_loader.hpp"
#include "server/admin/admin_server.hpp"
#include "server/admin/event_hub.hpp"
#include "server/admission/gate.hpp"
#include "server/admission/note_memory.hpp"
#include "server/admission/probe.hpp"
#include "server/admission/waiting_room.hpp"
#include "server/app_options.hpp"
#include "server/app_status.hpp"
#include "server/directory/directory.hpp"
#include "server/discovery/discovery.hpp"
#include "server/discovery/public_base.hpp"
#include "server/drain/drain.hpp"
#include "server/gateways/factory.hpp"
#include "server/gateways/plan_book.hpp"
#include "server/listener/door.hpp"
#include "server/listener/dev_certificate.hpp"
#include "server/listener/lobby.hpp"
#include "server/listener/tls_context.hpp"
#include "server/log/log.hpp"
#include "server/metrics/process.hpp"
#include "server/metrics/registry.hpp"
#include "server/runtime/shard_pool.hpp"
#include "server/runtime/signals.hpp"
#include "server/session/host.hpp"
#include "server/session/plan_push.hpp"
#include "server/upstream/console.hpp"
#include "server/upstream/router.hpp"
#include "server/upstream/tap.hpp"

namespace sm {

namespace {

using std::chrono::milliseconds;

/// What is still spooled when the program ends may take this long to be written.
constexpr milliseconds kUpstreamGoodbye{5000};
constexpr std::chrono::seconds kHousekeeping{1};
/// Gateways whose notes are read or written in one turn of the control loop.
constexpr std::size_t kNotesAtOnce = 1000;
/// After its 101 a gateway has no clock running; this long it waits for a registry that is away.
constexpr milliseconds kRegistryPatience{30000};

std::vector<std::string> public_hosts(const std::string& public_uri) {
    const auto begin = public_uri.find("://");
    if (begin == std::string::npos) return {};
    auto host = public_uri.substr(begin + 3);
    host = host.substr(0, host.find_first_of("/"));
    return {host.substr(0, host.rfind(':'))};
}

/// The certificates of the configuration, or generated ones for a first try. Throws when they cannot be used.
listener::TlsContextPtr load_tls(const config::Config& config, protocol::UtcTime now, const log::Logger& note) {
    const bool wanted = std::any_of(config.listen.gateways.begin(), config.listen.gateways.end(),
                                    [](const auto& settings) { return settings.tls; });
    if (!wanted) return nullptr;
    auto tls = config.tls;
    if (tls.certificates.empty()) {
        auto made = listener::dev_certificate(config.cache.path, public_hosts(config.listen.public_uri), now);
        if (!made) throw std::runtime_error("no development certificate in " + config.cache.path + ": " + made.error().message());
        tls.certificates.push_back(made->server);
        note.warn("development_certificate", {{"trust", made->authority}, {"remedy", "set tls.certificates"}});
    }
    auto built = listener::TlsContext::build(tls, public_hosts(config.listen.public_uri), now);
    for (const auto& warning : built.warnings) note.warn("certificate_doubtful", {{"cause", warning}});
    std::string problems;
    for (const auto& problem : built.problems) problems += (problems.empty() ? "" : "; ") + problem;
    if (!built.context) throw std::runtime_error(problems);
    return built.context;
}

gateways::PlanBook load_plan_book(const config::Plans& settings, const log::Logger& note) {
    config::Problems errors;
    config::Problems warnings;
    auto plans = config::load_plans(settings.directory, errors, &warnings);
    for (const auto& problem : errors) note.error("plan_left_out", {{"problem", to_string(problem)}});
    for (const auto& problem : warnings) note.warn("plan_doubtful", {{"problem", to_string(problem)}});
    return {std::move(plans), settings.default_plan};
}

std::vector<runtime::Executor> executors_of(runtime::ShardPool& pool) {
    std::vector<runtime::Executor> executors;
    for (std::size_t i = 0; i < pool.size(); ++i) executors.push_back(pool[i].executor());
    return executors;
}

/// The composition root: every room is a member, lowest floor first, and is destroyed in the reverse order. `run` has the
/// order of starting and stopping.
class App {
  public:
    App(config::Config config, std::string config_path);
    int run();

  private:
    void open_door();
    void open_admin();
    std::unique_ptr<admission::LoadProbes> load_probes();
    void wait_for_stop();
    void stop_asked(int signal);
    void housekeeping();
    void recall_notes(protocol::Eui64 after);
    void keep_notes(std::size_t limit);
    void reload();
    void report(metrics::Page& page) const;
    void learn_configured(const session::Session& session);
    void learn_ended(const session::Session& session, const session::Ending& ending);
    admission::Handover to_a_shard();
    std::size_t busy() const;

    const config::Config config_;
    const std::string config_path_;
    const ProcessLimits limits_ = take_process_limits();
    const Capacity capacity_ = capacity_of(config_, limits_);

    // Floor 1: time, lines, counting, threads.
    const runtime::SystemClock clock_;
    log::Log log_{config_.log};
    const log::Logger note_ = log_.room("app");
    metrics::Registry metrics_;
    const runtime::Shard::OnException on_bug_ = [this](const runtime::Shard& shard, std::exception_ptr error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& bug) {
            note_.error("bug", {{"thread", shard.name()}, {"what", bug.what()}});
        } catch (...) {
            note_.error("bug", {{"thread", shard.name()}});
        }
    };
    runtime::Shard control_{{"control", 0}, clock_, on_bug_};
    runtime::ShardPool lobby_threads_{"lobby", capacity_.lobbies, config_.instance.lobby_nice, clock_, on_bug_};
    runtime::ShardPool shards_{"shard", capacity_.shards, 0, clock_, on_bug_};

    // Floors 2 and 3: who is registered, who is connected.
    gateways::GatewaysProbe gateways_probe_;
    const gateways::KeyRingPtr keys_ = gateways::load_keys(config_.cache, log_.room("gateways"));
    const std::unique_ptr<gateways::WarmCache> cache_ = gateways::make_cache(
        config_.registry, config_.cache, clock_, gateways_probe_, log_.room("gateways"), keys_);
    gateways::Credentials credentials_{
        {{"authorization"}, config_.registry.require_credentials}, keys_, cache_->memories(), clock_};
    gateways::PlanBook plans_{load_plan_book(config_.plans, note_)};
    directory::Directory directory_;

    // Floor 4: who may enter, and when; the network-server side.
    const admission::TicketMint tickets_{
        ticket_options(config_.admission, config_.cache.path, log_.room("admission"))};
    admission::Gate gate_{desk_options(config_.admission, capacity_)};
    admission::WaitingRoom waiting_room_{gate_, clock_, {config_.admission.policy != "fifo"}};
    admin::AdminProbe admin_probe_;
    admin::EventHub hub_{admin_probe_};
    std::unique_ptr<upstream::Upstream> network_server_;
    std::unique_ptr<upstream::TapUpstream> upstream_;
    std::unique_ptr<upstream::Router> router_;

    // Floor 5: the door, router-info, the established gateway.
    listener::TlsContexts tls_{load_tls(config_, clock_.now().utc, note_)};
    const TrustedPeers trusted_{config_.listen.trusted_proxies};
    session::HostRooms host_rooms_;
    std::vector<std::unique_ptr<session::Host>> hosts_;
    session::PlanPush plan_push_{directory_, *cache_, plans_, control_.executor(), log_.room("session")};
    discovery::DiscoveryRooms discovery_rooms_;
    std::vector<std::unique_ptr<discovery::Discovery>> discoveries_;
    listener::ReceptionRooms reception_rooms_;
    std::unique_ptr<listener::Door> door_;
    std::vector<std::unique_ptr<listener::Lobby>> lobbies_;

    // Floor 6: the goodbye, and what the operator sees.
    drain::Drain drain_;
    std::unique_ptr<admin::AdminServer> admin_;
    const protocol::UtcTime started_at_ = clock_.now().utc;
    std::vector<std::string> warnings_;
    std::atomic<admin::ServiceState> state_{admin::ServiceState::kStarting};

    metrics::Registry::Registration process_report_;
    metrics::Registry::Registration report_;
    boost::asio::steady_timer housekeeping_timer_{control_.executor()};
    std::mutex stop_mutex_;
    std::condition_variable stop_woken_;
    int stops_asked_ = 0;
};

App::App(config::Config config, std::string config_path)
    : config_(std::move(config)),
      config_path_(std::move(config_path)),
      network_server_(std::make_unique<upstream::ConsoleUpstream>(config_.upstream, executors_of(shards_),
                                                                  log_.room("upstream"), metrics_)),
      upstream_(std::make_unique<upstream::TapUpstream>(*network_server_, hub_, capacity_.shards)),
      router_(std::make_unique<upstream::Router>(directory_, *upstream_, clock_, log_.room("upstream"), metrics_)),
      host_rooms_{clock_,
                  config_.session,
                  config_.upstream.stats_interval,
                  kRegistryPatience,
                  directory_,
                  *cache_,
                  plans_,
                  credentials_,
                  log_.room("session"),
                  [this](const session::Session& session) { learn_configured(session); },
                  [this](const session::Session& session, const session::Ending& ending) { learn_ended(session, ending); }},
      discovery_rooms_{clock_,       config_.listen, config_.admission.max_hold, *cache_, credentials_, tickets_, {},
                       log_.room("discovery")},
      reception_rooms_{clock_,
                       config_.listen,
                       [this] { return tls_.make_ssl(); },
                       [this](const admission::PeerAddress& peer) { return trusted_.contains(peer); },
                       tickets_,
                       *cache_,
                       credentials_,
                       to_a_shard(),
                       discovery::path_prefix(config_.listen.public_uri),
                       log_.room("listener")},
      drain_(config_.drain,
             {directory_, [this] { return busy(); }, [] { return 0.0; }, log_.room("drain")}) {
    std::random_device seed;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        auto& outlet = upstream_->outlet(static_cast<unsigned>(i));
        hosts_.push_back(std::make_unique<session::Host>(host_rooms_, shards_[i].executor(), outlet, seed()));
    }
    process_report_ = metrics::add_process_metrics(
        metrics_, {SM_VERSION, __VERSION__, config_.service, config_.instance.id});
    report_ = metrics_.add([this](metrics::Page& page) { report(page); });
}

int App::run() {
    const runtime::Signals signals(control_.executor(),
                                   {[this](int signal) { stop_asked(signal); }, [this] { reload(); }});
    // Up, from the inside out: nobody is let in before everybody he will need is there.
    control_.start();
    cache_->on_change([this](protocol::Eui64 eui, gateways::RecordPtr record) {
        plan_push_.record_changed(eui, std::move(record));
    });
    cache_->start();
    shards_.start();
    upstream_->start([this](protocol::DownlinkRequest request) { router_->deliver(std::move(request)); });
    lobby_threads_.start();
    open_door();
    open_admin();
    door_->start();
    state_.store(admin::ServiceState::kRunning);
    boost::asio::post(control_.executor(), [this] { recall_notes({}); });
    boost::asio::post(control_.executor(), [this] { housekeeping(); });
    note_.info("ready", {{"service", config_.service}, {"instance", config_.instance.id}, {"version", SM_VERSION}});

    wait_for_stop();

    // Down, from the outside in: no new guests, a goodbye to the gateways, their last words to the network side.
    state_.store(admin::ServiceState::kDraining);
    door_->stop();
    drain_.run();
    state_.store(admin::ServiceState::kStopping);
    waiting_room_.stop();
    door_->close();
    upstream_->stop(kUpstreamGoodbye);
    keep_notes(std::numeric_limits<std::size_t>::max());
    cache_->stop();
    lobby_threads_.stop();
    shards_.stop();
    control_.stop();
    lobby_threads_.join();
    shards_.join();
    control_.join();
    admin_->stop();
    note_.info("ended");
    return 0;
}

void App::open_door() {
    std::vector<listener::Listener> listeners;
    for (const auto& settings : config_.listen.gateways) {
        auto opened = listener::open_listener(settings, config_.listen.backlog);
        if (!opened) throw std::runtime_error("cannot listen on " + settings.address + ": " + opened.error().message());
        note_.info("listening", {{"address", opened->facts->address}, {"port", opened->facts->port}, {"tls", opened->facts->tls}});
        listeners.push_back(std::move(*opened));
    }
    door_ = std::make_unique<listener::Door>(
        std::move(listeners),
        [this](listener::Arrival arrival) {
            const auto& facts = *door_->listeners()[arrival.listener];
            admission::ParkedClient client;
            client.socket = std::move(arrival.socket);
            client.peer = arrival.peer;
            client.listener = arrival.listener;
            client.lane = facts.lane;
            if (facts.patience) client.class_ms = static_cast<std::uint32_t>(facts.patience->count());
            waiting_room_.park(std::move(client));
        },
        [this] { return busy() < capacity_.connections; }, log_.room("listener"));
    for (std::size_t i = 0; i < lobby_threads_.size(); ++i) {
        auto& lobby = lobby_threads_[i];
        discoveries_.push_back(std::make_unique<discovery::Discovery>(discovery_rooms_, lobby.executor()));
        lobbies_.push_back(std::make_unique<listener::Lobby>(
            listener::Lobby::Rooms{reception_rooms_, waiting_room_, door_->listeners(), config_.admission.busy_loop_delay},
            lobby, [room = discoveries_.back().get()](admission::Visitor visitor) { room->receive(std::move(visitor)); }));
    }
    waiting_room_.set_load(load_probes());
    waiting_room_.start();
}

/// What slows the intake down beside the lobbies' own loops (architecture §5.8).
std::unique_ptr<admission::LoadProbes> App::load_probes() {
    auto probes = std::make_unique<admission::LoadProbes>(admission::Load::Limits{});
    probes->add(admission::LoadSignal::kShardLag, [this] {
        protocol::Micros worst{0};
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            worst = std::max(worst, shards_[i].delay().minimum(clock_.now().steady));
        }
        return static_cast<double>(worst.count()) / 1e6;
    });
    probes->add(admission::LoadSignal::kCpuPressure, [] { return admission::read_cpu_pressure(); });
    probes->add(admission::LoadSignal::kRegistryBacklog,
                [this] { return static_cast<double>(gateways_probe_.backlog()); });
    probes->add(admission::LoadSignal::kUpstreamBacklog,
                [this] { return static_cast<double>(upstream_->backlog()); });
    return probes;
}

void App::open_admin() {
    admin::AdminBackend backend;
    backend.directory = &directory_;
    backend.registry = &metrics_;
    backend.log = &log_;
    backend.status = [this] {
        return service_status({config_, clock_, started_at_, state_, warnings_, *door_, gate_, *upstream_, lobby_threads_,
                               shards_});
    };
    backend.deliver = [this](protocol::DownlinkRequest request) { router_->deliver(std::move(request)); };
    backend.drain = [this] { stop_asked(0); };
    backend.known = [this](std::optional<protocol::Eui64> after, std::size_t limit) {
        return known_gateways(*cache_, gate_, after, limit);
    };
    backend.find_known = [this](protocol::Eui64 eui) { return find_known_gateway(*cache_, gate_, eui); };
    admin_ = std::make_unique<admin::AdminServer>(
        config_.admin, admin::AdminServer::Parts{std::move(backend), hub_, admin_probe_, clock_, log_.room("admin"), metrics_});
    admin_->start();
    note_.info("admin_listening", {{"address", admin_->address()}, {"port", admin_->port()}});
}

admission::Handover App::to_a_shard() {
    return [this](admission::Visitor visitor) {
        auto* calmest = hosts_.front().get();
        for (const auto& host : hosts_) {
            if (host->busy() < calmest->busy()) calmest = host.get();
        }
        calmest->receive(std::move(visitor));
    };
}

std::size_t App::busy() const {
    std::size_t count = 0;
    for (const auto& host : hosts_) count += host->busy();
    return count;
}

void App::learn_configured(const session::Session& session) {
    const auto& opening = session.opening();
    gate_.connected(session.eui(), opening.peer.source(), opening.record->tenant, clock_.now().steady);
    const auto context = session.context();
    cache_->memories().learn(session.eui(), [&](gateways::Memory& memory) {
        memory.address = context->address;
        memory.station = context->version.station;
        memory.firmware = context->version.firmware;
        memory.package = context->version.package;
        memory.model = context->version.model;
        memory.protocol = context->version.protocol;
        memory.features = context->version.features;
        memory.last_epoch = session.epoch();
        memory.last_end.clear();
        memory.last_seen = clock_.now().utc;
        ++memory.connects;
    });
}

void App::learn_ended(const session::Session& session, const session::Ending& ending) {
    gate_.disconnected(session.eui(), clock_.now().steady);
    cache_->memories().learn(session.eui(), [&](gateways::Memory& memory) {
        memory.last_end = directory::to_string(ending.reason);
        memory.last_seen = clock_.now().utc;
        memory.round_trip = session.conversation().round_trip();
    });
}

void App::wait_for_stop() {
    std::unique_lock lock(stop_mutex_);
    stop_woken_.wait(lock, [this] { return stops_asked_ > 0; });
}

void App::stop_asked(int signal) {
    note_.info("stop_asked", {{"signal", signal}});
    int asked = 0;
    {
        std::scoped_lock lock(stop_mutex_);
        asked = ++stops_asked_;
    }
    stop_woken_.notify_all();
    if (asked > 1) drain_.hurry();
}

/// Certificates and channel plans, each read whole or left as it is; gateways with a changed plan are brought over at a pace.
void App::reload() {
    config::Problems errors;
    auto plans = config::load_plans(config_.plans.directory, errors);
    for (const auto& problem : errors) note_.error("plan_refused", {{"problem", to_string(problem)}});
    if (errors.empty()) {
        plans_.replace(std::move(plans), config_.plans.default_plan);
        plan_push_.plans_changed();
    }
    try {
        if (auto context = load_tls(config_, clock_.now().utc, note_)) tls_.replace(std::move(context));
    } catch (const std::exception& error) {
        note_.error("certificates_refused", {{"cause", error.what()}});
    }
    log_.reopen();
    note_.info("reloaded", {{"plans", errors.empty()}});
}

/// What admission learned in earlier lives, a piece per turn: the first accept does not wait for it.
void App::recall_notes(protocol::Eui64 after) {
    const auto euis = cache_->list(after, kNotesAtOnce);
    const auto now = clock_.now();
    for (const auto eui : euis) {
        const auto memory = cache_->memories().recall(eui);
        if (!memory) continue;
        const auto known = cache_->find_local(eui);
        gate_.load(admission::note_of(eui, *memory, known.record ? known.record->tenant : std::string(),
                                      memory->last_end.empty()),
                   now.steady);
    }
    if (euis.size() == kNotesAtOnce) {
        boost::asio::post(control_.executor(), [this, last = euis.back()] { recall_notes(last); });
    }
}

void App::keep_notes(std::size_t limit) {
    for (const auto& note : gate_.take_changed(limit)) {
        cache_->memories().learn(note.eui, [&note](gateways::Memory& memory) { admission::remember(note, memory); });
    }
}

void App::housekeeping() {
    log_.tick();
    keep_notes(kNotesAtOnce);
    housekeeping_timer_.expires_after(kHousekeeping);
    housekeeping_timer_.async_wait([this](runtime::ErrorCode error) {
        if (!error) housekeeping();
    });
}

void App::report(metrics::Page& page) const {
    for (const auto& host : hosts_) host->probe().report(page);
    for (const auto& lobby : lobbies_) lobby->probe().report(page);
    for (const auto& room : discoveries_) room->probe().report(page);
    if (door_) door_->report(page);
    admission::report(gate_, page);
    gateways_probe_.report(page);
    credentials_.report(page);
    const auto now = clock_.now().steady;
    for (const auto* pool : {&lobby_threads_, &shards_}) {
        for (std::size_t i = 0; i < pool->size(); ++i) {
            const auto& shard = (*pool)[i];
            page.gauge("loop_lag_seconds", "Delay of a loop's turn, latest sample.",
                       static_cast<double>(shard.delay().last(now).count()) / 1e6,
                       {metrics::Label::fixed("thread", shard.name())});
        }
    }
    page.counter("log_lines_total", "Lines logged.", log_.lines());
    page.counter("log_suppressed_total", "Lines not logged because their event came too often.", log_.suppressed());
    page.counter("log_lost_total", "Lines lost because the log could not be written fast enough.", log_.lost());
}

}  // namespace

int run(config::Config config, std::string config_path) {
    try {
        // Better no start than a gateway server whose uplinks go somewhere else than configured.
        if (config.upstream.kind != "console") {
            throw std::runtime_error("upstream.kind: " + config.upstream.kind + " is not built yet; use console");
        }
        if (!config.fleet.redis.empty()) throw std::runtime_error("fleet.redis is not built yet; leave it out");
        App app(std::move(config), std::move(config_path));
        return app.run();
    } catch (const std::exception& error) {
        std::cerr << "stationmaster: " << error.what() << "\n";
        return 1;
    }
}

}  // namespace sm
