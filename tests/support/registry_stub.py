"""An HTTP registry as deploy/registry/openapi.yaml describes it, with latency and faults to order.

In a Python test:   with RegistryStub() as registry: registry.add(0x02ABC0FFFE102030, tenant="a"); registry.latency = 0.5
By hand or from C++: registry_stub.py prints its port; POST /control takes the attributes, GET /control gives the counters.
"""

import asyncio
import json
import threading

FAULTS = ("", "status", "hang", "close", "garbage", "half", "html404", "cut")


class RegistryStub:
    """Attributes may be changed at any time, from any thread."""

    def __init__(self, port=0, token=None):
        self.token = token
        self.gateways = {}  # 16 hex digits -> the object of the answer
        self.everything = False  # every EUI is registered
        self.latency = 0.0  # seconds per call
        self.limit = None  # connections beyond this many are refused (and counted)
        self.fault = ""  # one of FAULTS
        self.batch = True  # without it POST is 404
        self.calls = 0
        self.asked = 0  # EUIs
        self.connections = self.most_connections = self.refused = 0
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    # Life

    def start(self):
        self._thread.start()
        assert self._ready.wait(10), "the registry stub does not start"
        return self

    def stop(self):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def add(self, eui, **members):
        self.gateways[f"{eui:016x}"] = {"eui": f"{eui:016x}", **members}

    def remove(self, eui):
        self.gateways.pop(f"{eui:016x}", None)

    # The server

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self):
        self._stop = asyncio.Event()
        self._clients = set()
        server = await asyncio.start_server(self._client, "127.0.0.1", self.port, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _client(self, reader, writer):
        task = asyncio.current_task()
        self._clients.add(task)
        counted = False
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *lines = head.decode("latin-1").split("\r\n")
                method, path, _ = line.split(" ", 2)
                headers = {name.strip().lower(): value.strip() for name, _, value in (one.partition(":") for one in lines if one)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if path == "/control":
                    await self._send(writer, 200, self._control(method, body))
                    continue
                if not counted:
                    counted = True
                    self.connections += 1
                    self.most_connections = max(self.most_connections, self.connections)
                    if self.limit is not None and self.connections > self.limit:
                        self.refused += 1
                        return
                self.calls += 1
                if not await self._answer(writer, method, path, headers, body):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            if counted:
                self.connections -= 1
            self._clients.discard(task)
            writer.close()

    def _control(self, method, body):
        if method == "POST":
            for name, value in json.loads(body).items():
                setattr(self, name, value)
        return {name: getattr(self, name) for name in ("calls", "asked", "connections", "most_connections", "refused")}

    async def _answer(self, writer, method, path, headers, body):
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self.fault
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault in ("close", "cut"):
            if fault == "cut":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"eui\":")
                await writer.drain()
            return False
        if fault == "status":
            return await self._send(writer, 503, {"error": "out of order"})
        if fault == "html404":
            return await self._send(writer, 404, "<html>not here</html>", "text/html; charset=utf-8")
        if fault == "garbage":
            return await self._send(writer, 200, "][", "application/json")
        if self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            return await self._send(writer, 401, {"error": "who are you"})
        if method == "GET" and path.startswith("/v1/gateways/"):
            self.asked += 1
            gateway = self._find(path.rpartition("/")[2])
            return await self._send(writer, 200 if gateway else 404, gateway or {"error": "unknown"})
        if method == "POST" and path == "/v1/gateways/lookup" and self.batch:
            euis = json.loads(body)["euis"]
            assert 0 < len(euis) <= 500, len(euis)
            self.asked += len(euis)
            found = [gateway for gateway in map(self._find, euis) if gateway]
            unknown = [eui for eui in euis if not self._find(eui)]
            if fault == "half":
                found, unknown = found[: len(found) // 2], []
            return await self._send(writer, 200, {"gateways": found, "unknown": unknown})
        return await self._send(writer, 404, {"error": "no such path"})

    def _find(self, eui):
        return self.gateways.get(eui) or ({"eui": eui, "tenant": "everything"} if self.everything else None)

    @staticmethod
    async def _send(writer, status, body, kind="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        await writer.drain()
        return True


if __name__ == "__main__":
    stub = RegistryStub().start()
    print(stub.port, flush=True)
    threading.Event().wait()
