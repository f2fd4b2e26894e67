// Stats and metrics as paths of the kubelet's API.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { json, text } from "../server/answers.ts";
import type { AgentView } from "../server/contract.ts";
import { isTrue } from "../../plugins/kit/base/query-flag.ts";
import type { MoreRoutes } from "../server/routes.ts";
import { type PageState, pageState, type PageWish } from "../server/ui/state.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import { mostOpenFiles, openFiles } from "./cadvisor/processes.ts";
import { agentMetrics, type CertificateRenewals } from "./agent-metrics.ts";
import { lookedAt } from "./cadvisor/containers.ts";
import { CadvisorEvents } from "./cadvisor/events.ts";
import { fileSystems } from "./cadvisor/filesystems.ts";
import { openInventory } from "./cadvisor/inventory.ts";
import { kubeletStats } from "./cadvisor/kubelet-paths.ts";
import { cadvisorApi } from "./cadvisor/routes.ts";
import { CadvisorView } from "./cadvisor/view.ts";
import { cadvisorMetrics, type MachineNumbers } from "./cadvisor-metrics.ts";
import { DiskView, type DiskViewOptions } from "./disk-view.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { Sampler, type SamplerOptions } from "./sampler.ts";
import { summary, type SummaryFacts } from "./summary.ts";

export interface StatsOptions
  extends Omit<SamplerOptions, "runtime" | "pods" | "observed" | "onLook">,
    Omit<DiskViewOptions, "runtime"> {
  readonly view: AgentView;
  readonly machine: MachineNumbers;
  /** The interface that the node's own traffic takes. */
  readonly defaultInterface: () => string;
  /** `/metrics/probes`. */
  readonly probes: () => string;
  /** What the agent did; for `/metrics`. */
  readonly meters?: AgentMeters;
  /** When the certificate ends that the kubelet's API is served with. */
  readonly certificateEndsAt?: (() => number | undefined) | undefined;
  readonly renewals?: (() => CertificateRenewals | undefined) | undefined;
  readonly log: Log;
}

export interface Stats {
  readonly routes: MoreRoutes;
  /** What the page shows. */
  page(container: PageWish["container"]): Promise<PageState>;
  run(call: Call): Promise<void>;
}

const exposition = "text/plain; version=0.0.4; charset=utf-8";

export function openStats(options: StatsOptions): Stats {
  const { view, clock } = options;
  const { runtime } = view;
  const events = new CadvisorEvents();
  const sampler: Sampler = new Sampler({
    ...options,
    runtime: runtime.runtime,
    pods: () => view.pods(),
    observed: () => view.observed(),
    onLook: () => events.look(lookedAt(sampler.recent.slice(-1)), view.observed(), clock.now()),
  });
  const disk = new DiskView({ ...options, runtime });
  const { bootedAt } = options.machine;
  const { cgroups, dataDir } = options;
  const inventory = openInventory(options.log);
  const cadvisor = new CadvisorView({ view, sampler, disk, cgroups, inventory, bootedAt, dataDir, clock });
  const facts = (): SummaryFacts => ({
    nodeName: view.nodeName,
    startedAt: options.machine.bootedAt,
    defaultInterface: options.defaultInterface(),
  });
  const whole = async () => {
    const snapshot = await sampler.snapshot();
    return { snapshot, disk: await disk.look(snapshot.pods) };
  };
  const metrics: Record<string, () => Promise<string>> = {
    "": async () => {
      const { snapshot, disk } = await whole();
      const { volumesOf, certificateEndsAt, renewals } = options;
      const { version: cgroupVersion } = cgroups;
      const own = { volumesOf, certificateEndsAt, renewals, cgroupVersion, now: clock.now() };
      return agentMetrics(view, snapshot, disk, own) + (options.meters?.text() ?? "");
    },
    cadvisor: async () => {
      const { snapshot, disk } = await whole();
      const mounted = await fileSystems({ imagesAt: dataDir, disks: snapshot.node.disks });
      return cadvisorMetrics(snapshot, disk, options.machine, {
        mounted,
        openFiles: (cgroup) => {
          const all = cgroups.processes(cgroup).map(openFiles);
          const sum = (of: "files" | "sockets") => all.reduce((total, one) => total + one[of], 0);
          return { files: sum("files"), sockets: sum("sockets") };
        },
        bounds: (cgroup) => {
          const first = cgroups.processes(cgroup)[0];
          const files = first === undefined ? undefined : mostOpenFiles(first);
          const most = cgroups.read(cgroup, "pids", "pids.max")?.trim();
          return {
            ...(files === undefined ? {} : { files }),
            ...(most === undefined ? {} : { threads: Number(most) || 0 }),
          };
        },
      });
    },
    resource: async () => resourceMetrics(await sampler.snapshot()),
    probes: async () => options.probes(),
  };
  const summaryOf = async (query: URLSearchParams) => {
    if (isTrue(query.get("only_cpu_and_memory"))) return json(summary(await sampler.snapshot(), undefined, facts()));
    const found = await whole();
    return json(summary(found.snapshot, found.disk, facts()));
  };
  return {
    routes(request, call) {
      const { parts, query } = request;
      const [first, second = "", ...rest] = parts;
      if (first === "api") return cadvisorApi(parts.slice(1), { view: cadvisor, events, request }, call);
      if (first === "stats" && second !== "summary") return kubeletStats(parts.slice(1), cadvisor, request, call);
      if (request.method === "POST" || rest.some((part) => part !== "")) return undefined;
      if (first === "stats") return summaryOf(query);
      if (first === "spec" && second === "") return cadvisor.machine().then((found) => json(found));
      const write = first === "metrics" && Object.hasOwn(metrics, second) ? metrics[second] : undefined;
      return write && write().then((body) => text(body, 200, exposition));
    },
    page: async (container) => {
      const wish = { cpus: options.machine.cpus, bootedAt, dataDir, ...(container ? { container } : {}) };
      return pageState(view, await sampler.snapshot(), sampler.history, wish);
    },
    run: (call) => sampler.run(call),
  };
}
