// Container events: every step of a container's life, once its status shows it.

import * as cri from "../../../cri/api/gen/runtime.js";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function events(t: Test, bench: Workbench): void {
  t.test("getContainerEvents tells each step in order, and the status agrees", async (t) => {
    const stop = new AbortController();
    const seen: cri.ContainerEventResponse[] = [];
    const states: (cri.ContainerState | undefined)[] = [];
    const listening = (async () => {
      for await (const event of bench.runtime.runtime.getContainerEvents({}, stop)) {
        seen.push(event);
        if (event.containerEventType !== cri.ContainerEventType.CONTAINER_STOPPED_EVENT) continue;
        states.push(
          await bench.status(event.containerId).then(
            ({ state }) => state,
            () => undefined,
          ),
        );
      }
    })();
    // The first pod shows that the listener is heard; the second is the one to look at.
    await until("the first event", async () => {
      const { id } = await bench.pod();
      await bench.removePod(id);
      return seen.length > 0;
    });
    const pod = await bench.pod();
    const { id } = await bench.ran(pod, "exit 3");
    const typesOf = () => seen.filter(({ containerId }) => containerId === id).map((event) => event.containerEventType);
    await until("the exit to be told", () => typesOf().length >= 3);
    await bench.remove(id);
    await until("the removal to be told", () => typesOf().length >= 4);
    const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } =
      cri.ContainerEventType;
    t.same(bench.lacks("orderedEvents") ? typesOf().sort((a, b) => a - b) : typesOf(), [
      CONTAINER_CREATED_EVENT,
      CONTAINER_STARTED_EVENT,
      CONTAINER_STOPPED_EVENT,
      CONTAINER_DELETED_EVENT,
    ]);
    t.ok(states.includes(cri.ContainerState.CONTAINER_EXITED), "at the exit's event the status shows it");
    const started = seen.find(
      (event) => event.containerId === id && event.containerEventType === CONTAINER_STARTED_EVENT,
    );
    t.equal(started?.podSandboxStatus?.id, pod.id, "the sandbox is told with it");
    t.ok((started?.createdAt ?? 0n) > 1_000_000_000_000_000_000n);
    await bench.removePod(pod.id);
    stop.abort();
    await listening;
  });
}
