"""A gateway on a raw connection: discovery, `version`, uplinks and probes, with every byte in sight."""

import json
import re
import time

from field_cases import row
from raw_station import CLOSE, PING, PONG, TEXT, Closed, RawStation, close_payload, frame
from processes import seconds

# Field cases: the registered gateways.
G1, G2, G3, G4 = 0x02ABC0FFFE102030, 0x009000000000AE17, 0xC6391AFFFE0708C2, 0x0000D41E7A5290BB
TOKEN = "gw1-7Qd2xkV0pLm"
T1 = f"Authorization: Bearer {TOKEN}"
VERSION = json.dumps(row("version_messages.jsonl", "stock-2.0.6-prod-gps")["json"])
INTEGERS = ("DR|Freq|RX[12]Freq|RX[12]DR|RxDelay|dC|diid|priority|xtime|rctx|gpstime|freq|if|bandwidth|NetID")


def hex16(eui):
    return f"{eui:016x}"


def dashed(eui):
    return "-".join(f"{eui:016X}"[at : at + 2] for at in range(0, 16, 2))


class Gateway(RawStation):
    """One connection to a Server. `tls` False = its ws port; `context` a client's SSL context, else one that trusts its CA."""

    def __init__(self, server, *, tls=True, context=None, index=0, within=20):
        super().__init__(server.port(tls, index), ssl=(context or server.ca.context()) if tls else None, within=within)
        self.router_config = None
        self.texts = []

    # The two connections

    @classmethod
    def ask(cls, server, question, headers=(), **where):
        """The answer to one discovery question; a dict, or the HTTP status or close code where there was none. `question` is
        sent as it is, an EUI as the stock client spells it."""
        text = json.dumps({"router": _id6(question)}) if isinstance(question, int) else question
        with cls(server, **where) as station:
            status = station.upgrade("/router-info", headers)
            if status != 101:
                return status
            station.send(frame(text))
            try:
                answer = station.read_json()
            except Closed as end:
                return end.code
            station.send(frame(close_payload(1000), CLOSE, mask=b"\0\0\0\0"))
            return answer

    @classmethod
    def open(cls, server, eui, headers=(), version=VERSION, uri=None, **where):
        """Discovery, the traffic connection, `version`, `router_config` (in .router_config, its text in .texts[0])."""
        if uri is None:
            answer = cls.ask(server, eui, headers, **where)
            assert isinstance(answer, dict) and "uri" in answer, answer
            uri = answer["uri"]
        station = cls(server, **where)
        status = station.upgrade(path_of(uri), headers)
        assert status == 101, status
        if version is not None:
            station.say(version)
            station.router_config = station.receive("router_config")
        return station

    # Messages

    def say(self, message):
        """A text frame; dicts as JSON."""
        self.send(frame(json.dumps(message) if isinstance(message, dict) else message))

    def read_text(self):
        """The next text message as it stands, pings answered on the way. Asserts what C034, C069 and C094 ask of every one."""
        while True:
            opcode, payload, fin = self.read_frame()
            if opcode == PING:
                self.send(frame(payload, PONG))
            elif opcode == TEXT:
                assert fin, "stations do not read fragmented messages"
                text = payload.decode()
                bad = re.search(rf'"({INTEGERS})":-?[0-9]*[.eE]', text)
                assert not bad, f"{bad} in {text}"
                self.texts.append(text)
                return text
            elif opcode == CLOSE:
                raise Closed(f"close frame {self._code(payload)}", self._code(payload))

    def receive(self, msgtype=None):
        """The next message, or the next of a msgtype."""
        while True:
            message = json.loads(self.read_text())
            if msgtype is None or message.get("msgtype") == msgtype:
                return message

    def probe(self, number=77):
        """PROBE(n) of the field cases: the connection has survived all that was sent before. The reply."""
        self.say(f'{{"msgtype":"timesync","txtime":{number}}}')
        while True:
            text = self.read_text()
            if '"timesync"' not in text or not re.search(rf'"txtime":{number}[,}}]', text):
                continue
            assert re.search(r'"gpstime":[0-9]+[,}]', text), text
            return json.loads(text)

    def quiet(self, within=0.5):
        """Nothing but pings for this long: a probe comes back first."""
        before = len(self.texts)
        end = time.monotonic() + within
        while time.monotonic() < end:
            self.probe(1)
        return all('"timesync"' in text for text in self.texts[before:])


def path_of(uri):
    """ws[s]://host:port/path → /path"""
    return "/" + uri.split("://", 1)[1].split("/", 1)[1]


def _id6(eui):
    return ":".join(f"{(eui >> shift) & 0xFFFF:x}" for shift in (48, 32, 16, 0))


def downlink(server, eui, wait=None, **fields):
    """Posts a downlink to the admin API; the answer. 64-bit integers stay integers."""
    path = f"/api/v1/gateways/{hex16(eui)}/downlinks" + (f"?wait={wait}" if wait else "")
    return server.admin(path, "POST", fields, timeout=seconds(30))


def gps_now():
    """Microseconds since 1980-01-06, leap seconds counted."""
    return int((time.time() - 315964800 + 18) * 1e6)
