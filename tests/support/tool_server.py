"""A tool server that does what a JSON object says, on its standard streams or over HTTP. It needs nothing but Python.

`tools`: its tools; `times` repeats a description. `calls`: for each tool's name a list of steps, done in order:
  {"answer": {…}} the result, {"error": {…}}, {"raw": "…"} a line as it is, {"bytes": hex}, {"big": n} n bytes of text,
  {"line": n} n bytes without an end, {"die": code}, {"silent": true}, {"progress": n}, {"whole": n} (each its own
  total), {"ask": {…}} an elicitation
  whose answer is the result, {"read": path}, {"write": path}, {"reach": [host, port]}, {"env": name},
  {"tools": […]} other tools from now on, {"count": file} a line for each call and each cancellation.
`start`: the same steps, done before it reads. `refuses`: methods that it ends at. `mute`: methods it never answers.
`prompts`: for each prompt's name the list of its arguments and its text, in which {name} is an argument.
`pages`: the file of each page by its `ui://` address.
`endless`: lists have another page for ever. `first_wrong_id`: each answer comes under a wrong id before its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Send = Callable[[Any], None]


class ToolServer:
    def __init__(self, told: dict[str, Any], send: Send) -> None:
        self.told = told
        self._send = send
        self._asked: dict[str, Any] = {}

    def start(self) -> None:
        for step in self.told.get("start", []):
            self._step(step, 0, {})

    def take(self, message: dict[str, Any]) -> None:
        number, method = message.get("id"), message.get("method")
        if method == "notifications/cancelled" and "count" in self.told:
            self._count("cancelled")
        if method is None and number in self._asked:
            said = json.dumps(message.get("result"))
            self._reply(self._asked.pop(number), {"content": [{"type": "text", "text": said}]})
        if number is None or method is None or method in self.told.get("mute", []):
            return
        if method in self.told.get("refuses", []):
            sys.exit(3)
        if method == "tools/call":
            self._call(number, message["params"])
        elif (answer := self._listed(method, message.get("params") or {})) is not None:
            self._reply(number, answer)
        else:
            self._send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": f"no {method}"}})

    def _listed(self, method: str, params: dict[str, Any]) -> Any:
        told = self.told
        page = int(params.get("cursor") or 0) + 1
        more = {"nextCursor": str(page)} if told.get("endless") else {}
        if method == "initialize":
            able = {"tools": {"listChanged": True}, **{one: {} for one in ("resources", "prompts") if one in told}}
            about = {"name": "test", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": about, **told.get("hello", {})}
        if method == "tools/list":
            tools = [{"inputSchema": {"type": "object"}, **tool} for tool in told.get("tools", [])]
            for tool in tools:
                tool["description"] = tool.get("description", "") * tool.pop("times", 1)
            if told.get("endless"):
                tools = [{**tool, "name": f"{tool['name']}{page}"} for tool in tools]
            return {"tools": tools, **more}
        if method == "prompts/list":
            return {"prompts": [{"name": name, "arguments": parts} for name, (parts, _) in told["prompts"].items()]}
        if method == "prompts/get":
            text = told["prompts"][params["name"]][1].format(**params.get("arguments") or {})
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        if method == "resources/list":
            listed = [{"uri": uri, "name": uri} for uri in told.get("resources", {})]
            return {"resources": listed, **more}
        if method == "resources/templates/list":
            return {"resourceTemplates": []}
        if method == "resources/read":
            return self._resource(params["uri"])
        return None

    def _resource(self, uri: str) -> Any:
        if file := self.told.get("pages", {}).get(uri):
            text = Path(file).read_text(encoding="utf-8")
            return {"contents": [{"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": text}]}
        known = self.told.get("resources", {})
        return {"contents": [{"uri": uri, "text": known[uri]}]} if uri in known else None

    def _call(self, number: Any, params: dict[str, Any]) -> None:
        self._count(params["name"])
        for step in self.told.get("calls", {}).get(params["name"], [{"answer": {"content": []}}]):
            self._step(step, number, params)

    def _step(self, step: dict[str, Any], number: Any, params: dict[str, Any]) -> None:
        ((kind, value),) = step.items()
        getattr(self, f"_do_{kind}")(value, number, params)

    def _do_answer(self, value: Any, number: Any, params: dict[str, Any]) -> None:
        self._reply(number, value)

    def _do_echo(self, value: Any, number: Any, params: dict[str, Any]) -> None:
        self._text(number, json.dumps(params.get("arguments")))

    def _do_error(self, value: Any, number: Any, params: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "error": value})

    def _do_raw(self, value: str, number: Any, params: dict[str, Any]) -> None:
        _out(value.encode() + b"\n")

    def _do_bytes(self, value: str, number: Any, params: dict[str, Any]) -> None:
        _out(bytes.fromhex(value) + b"\n")

    def _do_stderr(self, value: str, number: Any, params: dict[str, Any]) -> None:
        sys.stderr.write(f"{value}\n")
        sys.stderr.flush()

    def _do_big(self, value: int, number: Any, params: dict[str, Any]) -> None:
        self._text(number, "x" * value)

    def _do_line(self, value: int, number: Any, params: dict[str, Any]) -> None:
        for _ in range(value // 65_536):
            _out(b"x" * 65_536)

    def _do_die(self, value: int, number: Any, params: dict[str, Any]) -> None:
        sys.stdout.flush()
        os._exit(value)

    def _do_silent(self, value: Any, number: Any, params: dict[str, Any]) -> None:
        return

    def _do_progress(self, value: int, number: Any, params: dict[str, Any]) -> None:
        token = params.get("_meta", {}).get("progressToken")
        for done in range(1, value + 1):
            told = {"progressToken": token, "progress": done, "total": value, "message": f"step {done}"}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

    def _do_whole(self, value: int, number: Any, params: dict[str, Any]) -> None:
        token = params.get("_meta", {}).get("progressToken")
        for done in range(1, value + 1):
            told = {"progressToken": token, "progress": done, "total": done}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

    def _do_ask(self, value: dict[str, Any], number: Any, params: dict[str, Any]) -> None:
        mine = f"ask-{number}"
        self._asked[mine] = number
        self._send({"jsonrpc": "2.0", "id": mine, "method": "elicitation/create", "params": value})

    def _do_read(self, value: str, number: Any, params: dict[str, Any]) -> None:
        try:
            self._text(number, Path(value).expanduser().read_text(encoding="utf-8"))
        except OSError as error:
            self._text(number, f"{type(error).__name__}")

    def _do_write(self, value: str, number: Any, params: dict[str, Any]) -> None:
        try:
            Path(value).expanduser().write_text("written by the server", encoding="utf-8")
            self._text(number, "written")
        except OSError as error:
            self._text(number, f"{type(error).__name__}")

    def _do_reach(self, value: list[Any], number: Any, params: dict[str, Any]) -> None:
        try:
            socket.create_connection((value[0], value[1]), 3).close()
            self._text(number, "reached")
        except OSError as error:
            self._text(number, f"{type(error).__name__}")

    def _do_env(self, value: str, number: Any, params: dict[str, Any]) -> None:
        self._text(number, os.environ.get(value, "(unset)"))

    def _do_tools(self, value: list[Any], number: Any, params: dict[str, Any]) -> None:
        self.told["tools"] = value
        self._send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        self._text(number, "changed")

    def _count(self, word: str) -> None:
        if file := self.told.get("count"):
            with Path(file).open("a", encoding="utf-8") as opened:
                opened.write(f"{word}\n")

    def _text(self, number: Any, text: str) -> None:
        self._reply(number, {"content": [{"type": "text", "text": text}]})

    def _reply(self, number: Any, result: Any) -> None:
        if self.told.get("first_wrong_id"):
            wrong = {"content": [{"type": "text", "text": "for another"}]}
            self._send({"jsonrpc": "2.0", "id": 987_654, "result": wrong})
        self._send({"jsonrpc": "2.0", "id": number, "result": result})


def _out(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _on_pipes(told: dict[str, Any]) -> None:
    server = ToolServer(told, lambda message: _out(json.dumps(message).encode() + b"\n"))
    server.start()
    for line in sys.stdin:
        server.take(json.loads(line))


def serve_http(told: dict[str, Any]) -> ThreadingHTTPServer:
    """A server on loopback, not yet serving; it keeps the headers of the last request in `last_headers`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.server.last_headers = dict(self.headers)  # type: ignore[attr-defined]
            if where := told.get("redirect"):
                self.send_response(307)
                self.send_header("Location", where)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answers: list[Any] = []
            ToolServer(told, answers.append).take(message)
            body = json.dumps(answers[0]).encode() if answers else b""
            self.send_response(200 if answers else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            return

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    _on_pipes(json.loads(sys.argv[1]))
