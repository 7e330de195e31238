"""A minimal Basics Station over python3-websockets, for tests of messages. Malformed traffic is raw_station.py's."""

import asyncio
import json
import ssl as ssl_module
import time

import websockets

from processes import seconds

VERSION = {
    "msgtype": "version",
    "station": "2.0.6(linux/std)",
    "firmware": "1.0.0",
    "package": "1.0.0",
    "model": "linux",
    "protocol": 2,
    "features": "rmtsh",
}


def id6(eui):
    """"16:c001:ff10:a235", as the stock client prints it (without the :: forms)."""
    return ":".join(f"{(eui >> shift) & 0xFFFF:x}" for shift in (48, 32, 16, 0))


class Rejected(AssertionError):
    """The handshake was answered with another status than 101."""

    def __init__(self, status):
        super().__init__(f"HTTP status {status}")
        self.status = status


class Station:
    """One gateway: discover, connect, talk. `base` is ws://host:port or wss://host:port of the server."""

    def __init__(self, base, eui, *, ssl=None, headers=None, version=None):
        self.base, self.eui, self.headers = base, eui, headers or {}
        self.ssl = ssl if base.startswith("wss:") else None
        self.version = {**VERSION, **(version or {})}
        self.socket = None
        self.uri = None
        self.router_config = None
        self.received = []

    async def _open(self, uri, within):
        # As the stock client: no extensions, no origin, no user agent, no pings of its own.
        try:
            return await asyncio.wait_for(
                websockets.connect(uri, ssl=self.ssl if uri.startswith("wss:") else None, compression=None, origin=None,
                                   extra_headers=self.headers, user_agent_header=None, ping_interval=None, max_size=None,
                                   close_timeout=seconds(5), open_timeout=None),
                seconds(within))
        except websockets.InvalidStatusCode as error:
            raise Rejected(error.status_code) from None

    async def discover(self, router=None, within=20):
        """The answer to /router-info; closes as the client does."""
        socket = await self._open(self.base + "/router-info", within)
        try:
            await socket.send(json.dumps({"router": id6(self.eui) if router is None else router}))
            return json.loads(await asyncio.wait_for(socket.recv(), seconds(within)))
        finally:
            await socket.close()

    async def connect(self, uri=None, within=20):
        """Discovery (unless a URI is given), the traffic connection, `version`; the router_config."""
        if uri is None:
            answer = await self.discover(within=within)
            assert "error" not in answer, answer
            uri = answer["uri"]
        self.uri = uri
        self.socket = await self._open(uri, within)
        await self.send(self.version)
        self.router_config = await self.receive("router_config", within)
        return self.router_config

    async def send(self, message):
        """A dict as one JSON text frame; text and bytes as they are."""
        await self.socket.send(json.dumps(message) if isinstance(message, dict) else message)

    async def receive(self, msgtype=None, within=10):
        """The next message, or the next of a msgtype (others are kept in `received`)."""
        end = time.monotonic() + seconds(within)
        while True:
            left = end - time.monotonic()
            try:
                text = await asyncio.wait_for(self.socket.recv(), max(left, 0.001))
            except asyncio.TimeoutError:
                raise AssertionError(f"no {msgtype or 'message'} within {seconds(within):g} s; got {self.received}") from None
            message = json.loads(text) if isinstance(text, str) else text
            self.received.append(message)
            if msgtype is None or (isinstance(message, dict) and message.get("msgtype") == msgtype):
                return message

    async def closed(self, within=10):
        """Waits for the server's close; the close code (1006 where there was no close frame)."""
        try:
            await asyncio.wait_for(self.socket.wait_closed(), seconds(within))
        except asyncio.TimeoutError:
            raise AssertionError(f"not closed within {seconds(within):g} s") from None
        return self.socket.close_code

    async def close(self, code=1000):
        if self.socket is not None:
            await self.socket.close(code)

    async def abort(self):
        """Cuts the TCP connection with a reset."""
        if self.socket is not None:
            self.socket.transport.abort()
            # The loop closes the descriptor in its next turn.
            await asyncio.sleep(0.01)

    async def __aenter__(self):
        await self.connect()
        return self

    async def __aexit__(self, *_):
        await self.close()


def trust_nothing():
    """An SSL context that accepts any certificate, for the generated development one."""
    context = ssl_module.SSLContext(ssl_module.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl_module.CERT_NONE
    return context
