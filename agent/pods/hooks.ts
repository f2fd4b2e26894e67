// Life-cycle handlers of containers: postStart and preStop, as command, HTTP request or sleep.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { httpAsk } from "../../plugins/kit/os/http-ask.ts";
import { headersOf, urlOf } from "../../plugins/kit/kube/objects/http-action.ts";

export type LifecycleHandler = NonNullable<NonNullable<Container["lifecycle"]>["preStop"]>;

export interface HookTarget {
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string;
}

export class HookRunner {
  readonly #runtime: Pick<Runtime["runtime"], "execSync">;
  readonly #clock: Clock;

  constructor(runtime: Pick<Runtime["runtime"], "execSync">, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Resolves when the handler has succeeded. Fault with the output otherwise; stops when the call is. */
  async run(handler: LifecycleHandler, target: HookTarget, call: Call): Promise<void> {
    if (handler.exec) return this.#exec(handler.exec.command ?? [], target, call);
    if (handler.httpGet) {
      const action = handler.httpGet;
      const answer = await httpAsk({ url: urlOf(action, target), headers: headersOf(action) }, call);
      if (answer.statusCode < 200 || answer.statusCode >= 400) {
        throw new Fault("unavailable", `HTTP hook failed with status ${answer.statusCode}: ${answer.body}`);
      }
      return;
    }
    if (handler.sleep) await this.#clock.sleep(handler.sleep.seconds * 1000, call);
  }

  async #exec(cmd: readonly string[], target: HookTarget, call: Call): Promise<void> {
    const request = { containerId: target.containerId, cmd: [...cmd], timeout: 0n };
    const answer = await this.#runtime.execSync(request, call);
    if (answer.exitCode === 0) return;
    const output = Buffer.concat([answer.stdout, answer.stderr]).toString("utf8").slice(0, 1024);
    throw new Fault("unavailable", `command '${cmd.join(" ")}' exited with ${answer.exitCode}: ${output}`);
  }
}
