#!/usr/bin/env python3
"""The layers check finds what it is there for."""

import tempfile
import unittest
from pathlib import Path

import layers


class Floors(unittest.TestCase):
    def offences(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return layers.check_floors(root)

    def one(self, name, include, others=()):
        files = {other: "" for other in others}
        files[name] = f"#pragma once\n#include {include}\n"
        offences, count = self.offences(files)
        self.assertEqual(count, 1)
        return offences

    def test_down_and_own_room_are_allowed(self):
        self.assertEqual(self.one("server/session/a.hpp", '"server/admission/b.hpp"', ["server/admission/b.hpp"]), [])
        self.assertEqual(self.one("server/session/a.hpp", '"server/session/b.hpp"', ["server/session/b.hpp"]), [])
        self.assertEqual(self.one("config/a.hpp", '"protocol/region/b.hpp"', ["protocol/region/b.hpp"]), [])
        self.assertEqual(self.one("server/app.cpp", '"server/admin/b.hpp"', ["server/admin/b.hpp"]), [])
        self.assertEqual(self.one("server/log/a.hpp", "<vector>"), [])

    def test_up_is_an_offence(self):
        offences = self.one("server/gateways/a.hpp", '"server/session/b.hpp"', ["server/session/b.hpp"])
        self.assertEqual(len(offences), 1)
        self.assertIn("server/gateways/a.hpp:2:", offences[0])
        self.assertIn("up to session", offences[0])
        self.assertIn("up to config", self.one("protocol/a.cpp", '"config/b.hpp"', ["config/b.hpp"])[0])
        self.assertIn("up to app", self.one("server/admin/a.cpp", '"server/app.hpp"', ["server/app.hpp"])[0])

    def test_sideways_is_an_offence(self):
        for room, other in (("session", "listener"), ("log", "metrics"), ("fleet", "directory"), ("admin", "drain")):
            offences = self.one(f"server/{room}/a.cpp", f'"server/{other}/b.hpp"', [f"server/{other}/b.hpp"])
            self.assertIn("sideways", offences[0])

    def test_tests_and_missing_files_are_offences(self):
        self.assertIn("its tests", self.one("server/log/a.cpp", '"tests/support/b.hpp"', ["tests/support/b.hpp"])[0])
        self.assertIn("no file", self.one("server/log/a.cpp", '"b.hpp"')[0])
        self.assertIn("no file", self.one("server/log/a.cpp", '"../log/b.hpp"', ["server/log/b.hpp"])[0])
        self.assertIn("quotes", self.one("server/log/a.cpp", "<server/log/b.hpp>", ["server/log/b.hpp"])[0])

    def test_a_room_without_a_floor_is_an_offence(self):
        offences, _ = self.offences({"server/attic/a.cpp": ""})
        self.assertIn("attic has no floor", offences[0])

    def test_heavy_headers_are_an_offence_in_headers_only(self):
        for include in ("<boost/beast/core.hpp>", "<openssl/ssl.h>", "<boost/asio/ssl.hpp>"):
            self.assertIn("in a header", self.one("server/session/a.hpp", include)[0])
            self.assertEqual(self.one("server/session/a.cpp", include), [])


class Wall(unittest.TestCase):
    TEXT = """protocol/CMakeFiles/sm_protocol.dir/eui.cpp.o: #deps 2, deps mtime 1 (VALID)
    ../protocol/eui.cpp
    {header}

server/CMakeFiles/sm_log.dir/log.cpp.o: #deps 1, deps mtime 1 (VALID)
    /usr/include/boost/asio.hpp

"""

    def offences(self, header):
        return layers.check_wall(layers.parse_deps(self.TEXT.format(header=header)))

    def test_sockets_and_their_friends_are_found(self):
        for header in (
            "/usr/include/boost/asio/buffer.hpp",
            "/usr/include/boost/asio.hpp",
            "/usr/include/boost/beast/core.hpp",
            "/usr/include/openssl/ssl.h",
            "/usr/include/x86_64-linux-gnu/sys/socket.h",
        ):
            offences, objects = self.offences(header)
            self.assertEqual(objects, 1)
            self.assertEqual(offences, [f"protocol/eui.cpp:1: reaches {header}"])

    def test_the_rest_is_allowed(self):
        for header in ("/usr/include/boost/json.hpp", "/usr/include/c++/12/vector", "../protocol/bytes.hpp"):
            self.assertEqual(self.offences(header), ([], 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
