// One question to a gRPC service behind a socket, with a Call's signal; every error is a Fault.

import { Client, credentials } from "@grpc/grpc-js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { faultFromGrpc } from "./grpc-faults.ts";
import { grpcMethod, type MethodTable, type ServiceTable } from "./grpc-service.ts";

/** Connects with the first question. */
export function socketClient(socket: string): Client {
  // Go's servers refuse the percent-encoded path that would be the default for unix sockets.
  return new Client(`unix:${socket}`, credentials.createInsecure(), { "grpc.default_authority": "localhost" });
}

export interface Question {
  readonly service: ServiceTable;
  readonly method: MethodTable;
  readonly message: object;
  /** Who is asked, for the message of a Fault. */
  readonly of: string;
}

export function ask(client: Client, question: Question, call: Call): Promise<unknown> {
  const { path, requestSerialize, responseDeserialize } = grpcMethod(question.service, question.method);
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(faultFromGrpc(call.signal.reason, question.of));
    const onAbort = () => running.cancel();
    const running = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      question.message,
      (error, answer) => {
        call.signal.removeEventListener("abort", onAbort);
        if (error) reject(faultFromGrpc(error, `${question.of}: ${question.method.name}`));
        else resolve(answer);
      },
    );
    call.signal.addEventListener("abort", onAbort, { once: true });
  });
}
