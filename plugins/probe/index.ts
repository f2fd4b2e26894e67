// Every built-in kind of probe.

import { exec } from "./exec.ts";
import { grpc } from "./grpc.ts";
import { httpGet } from "./http-get.ts";
import { tcpSocket } from "./tcp-socket.ts";

export const probes = [exec, httpGet, tcpSocket, grpc];
