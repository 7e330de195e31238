"""Everything an integration test imports:

    import unittest
    from harness import Server, Station, RawStation, frame, wait_until

    class Uplinks(unittest.IsolatedAsyncioTestCase):
        async def test_a_join_request_arrives(self):
            with Server() as server:
                async with Station(server.uri(), 0x0016C001FF10A235, ssl=server.ca.context()) as station:
                    await station.send({...})
                    server.wait_event(type="uplink")

    if __name__ == "__main__":
        unittest.main(verbosity=2)

CTest runs tests/integration/*_test.py with SM_BIN, SM_STORM, SM_SOURCE_DIR and SM_TEST_FACTOR in the environment. To run one
by hand: SM_BIN=build/debug/server/stationmaster PYTHONPATH=tests/support /usr/bin/python3 tests/integration/x_test.py
SM_KEEP=1 keeps the folders of servers for a look at their logs.
"""

from certificates import Ca, Pair  # noqa: F401
from field_cases import message, router_config_findings, row, rows, text  # noqa: F401
from gateway import G1, G2, G3, G4, T1, TOKEN, VERSION, Gateway, dashed, downlink, gps_now, hex16, path_of  # noqa: F401
from processes import FACTOR, Folder, Process, free_port, port_is_open, seconds, start_daemon, wait_until  # noqa: F401
from raw_station import (  # noqa: F401
    BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Closed, RawStation, close_payload, frame, garbage, request,
)
from server import Answer, Server, merged, settle  # noqa: F401
from stations import Rejected, Station, id6, trust_nothing  # noqa: F401
