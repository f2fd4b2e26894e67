import t from "tap";
import { Fault, type FaultCode } from "../../plugins/kit/base/fault.ts";
import { faultFromGrpc, grpcFromFault } from "./grpc-faults.ts";

t.test("grpcFromFault() and faultFromGrpc() carry each code there and back", async (t) => {
  const codes: FaultCode[] = ["not-found", "already-exists", "conflict", "invalid", "forbidden", "unauthorized"];
  codes.push("too-many", "unsupported", "unavailable", "timeout", "internal");
  for (const code of codes) {
    const status = grpcFromFault(new Fault(code, "no such container"));
    t.equal(faultFromGrpc(status, "remove").code, code);
  }
  t.equal(
    faultFromGrpc(grpcFromFault(new Fault("expired", "late")), "watch").code,
    "conflict",
    "gRPC has no word for it",
  );
});

t.test("faultFromGrpc() names what was being done and keeps the runtime's words", async (t) => {
  const fault = faultFromGrpc({ code: 5, details: 'container "x" not found' }, "Cannot start container");
  t.match(fault, { code: "not-found", message: 'Cannot start container: container "x" not found' });
  t.match(faultFromGrpc({ code: 2, details: "" }, "stop"), { code: "internal", message: "stop: no reason given" });
});

t.test("faultFromGrpc() wraps what is no gRPC status", async (t) => {
  t.match(faultFromGrpc(new Error("boom"), "list"), { code: "internal", message: "list: boom" });
  t.match(faultFromGrpc(new DOMException("stopped", "AbortError"), "list"), { code: "timeout" });
  const fault = new Fault("conflict", "busy");
  t.equal(faultFromGrpc(fault, "list"), fault);
});

t.test("grpcFromFault() tells surprises as INTERNAL", async (t) => {
  t.same(grpcFromFault(new Error("boom")), { code: 13, details: "call failed: boom" });
});

t.test("faultFromGrpc() takes a connection that broke for a runtime that cannot be reached", async (t) => {
  const details = "Received RST_STREAM with code 2 triggered by internal client error: write EPIPE";
  t.equal(faultFromGrpc({ code: 13, details }, "Subscribe").code, "unavailable");
  t.equal(faultFromGrpc({ code: 13, details: "snapshot is broken" }, "Subscribe").code, "internal");
});
