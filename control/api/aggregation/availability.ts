// Whether the server behind an APIService can be used: its service, its endpoints, and its own answer to discovery.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ClusterView } from "../../../plugins/kit/kube/cluster-view.ts";
import { toFault } from "../../../plugins/kit/base/fault.ts";
import type { KubeObject, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { type ApiService, apiServiceRef, type ApiServiceCondition } from "../../resources/registration/types.ts";
import type { ListedResource } from "../discovery/resource-list.ts";
import { timestamp } from "../lifecycle.ts";
import type { Services } from "../scope.ts";
import type { Remote, Told } from "./remote.ts";

interface EndpointSlice extends KubeObject {
  endpoints?: { conditions?: { ready?: boolean } }[];
  ports?: { name?: string }[];
}

type Finding = Pick<ApiServiceCondition, "status" | "reason" | "message">;

const unavailable = (reason: string, message: string): Finding => ({ status: "False", reason, message });

/** Asks the server, remembers what it told, and says how it stands. Does not throw. */
export async function examine(remote: Remote, view: Pick<ClusterView, "informer">, call: Call): Promise<Finding> {
  const missing = missingPart(remote.service, view);
  if (missing) return missing;
  remote.renew();
  const url = `https://${remote.service.spec.service?.name}.${remote.service.spec.service?.namespace}.svc${remote.path}`;
  try {
    const response = await remote.ask(remote.path, call);
    if (!response.ok) {
      await response.body?.cancel();
      const why = `failing or missing response from ${url}: bad status from ${url}: ${response.status}`;
      return unavailable("FailedDiscoveryCheck", why);
    }
    const { resources = [] } = (await response.json()) as { resources?: ListedResource[] };
    remote.told = { resources, openApiHash: await openApiHash(remote, call) } satisfies Told;
    return { status: "True", reason: "Passed", message: "all checks passed" };
  } catch (error) {
    const why = `failing or missing response from ${url}: ${toFault(error, "the request").message}`;
    return unavailable("FailedDiscoveryCheck", why);
  }
}

function missingPart({ spec }: ApiService, view: Pick<ClusterView, "informer">): Finding | undefined {
  const { namespace = "", name = "", port = 443 } = spec.service ?? {};
  const place = `service/${name} in ${JSON.stringify(namespace)}`;
  const service = view.informer<Service>({ group: "", plural: "services" }).get(namespace, name);
  if (!service) return unavailable("ServiceNotFound", `${place} is not present`);
  if ((service.spec?.type ?? "ClusterIP") !== "ClusterIP") return undefined;
  const found = service.spec?.ports?.find((one) => one.port === port);
  if (!found) return unavailable("ServicePortError", `${place} is not listening on port ${port}`);
  const slices = view
    .informer<EndpointSlice>({ group: "discovery.k8s.io", plural: "endpointslices" })
    .list(namespace)
    .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name);
  if (slices.length === 0) return unavailable("EndpointsNotFound", `cannot find endpoints for ${place}`);
  const portName = found.name ?? "";
  const isReady = slices.some(
    ({ endpoints, ports }) =>
      ports?.some((one) => (one.name ?? "") === portName) &&
      endpoints?.some(({ conditions }) => conditions?.ready !== false),
  );
  if (isReady) return undefined;
  return unavailable(
    "MissingEndpoints",
    `endpoints for ${place} have no addresses with port name ${JSON.stringify(portName)}`,
  );
}

/** Servers from before OpenAPI v3 have none, which is no fault of theirs. */
async function openApiHash(remote: Remote, call: Call): Promise<string | undefined> {
  try {
    const response = await remote.ask("/openapi/v3", call);
    const { paths } = (await response.json()) as { paths?: Record<string, { serverRelativeURL?: string }> };
    const url = paths?.[remote.path.slice(1)]?.serverRelativeURL ?? "";
    return new URLSearchParams(url.split("?")[1] ?? "").get("hash") ?? undefined;
  } catch {
    return undefined; // the document is left out until the server tells of it
  }
}

/** Writes the condition where it says something new; those of others stay. */
export async function tell({ storage, clock }: Services, name: string, finding: Finding, call: Call): Promise<void> {
  await storage.update(
    apiServiceRef,
    "",
    name,
    (current) => {
      const next = current.copy() as ApiService;
      if (!next.spec.service) return { do: "nothing" };
      const conditions = next.status?.conditions ?? [];
      const at = conditions.findIndex(({ type }) => type === "Available");
      const before = conditions[at];
      if (before?.status === finding.status && before?.reason === finding.reason && before?.message === finding.message)
        return { do: "nothing" };
      const lastTransitionTime =
        before?.status === finding.status && before.lastTransitionTime
          ? before.lastTransitionTime
          : timestamp(clock.now());
      const condition = { type: "Available", ...finding, lastTransitionTime };
      const changed = at < 0 ? [...conditions, condition] : conditions.with(at, condition);
      return { do: "put", object: { ...next, status: { ...next.status, conditions: changed } } };
    },
    call,
  );
}
