// Variables that tell a container of the services in its namespace, in both forms that upstream writes.

import type { Service } from "../../plugins/kit/kube/objects/types.ts";

/** Services of the pod's namespace when links are enabled, and the API server's own service always. */
export function serviceEnv(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): Map<string, string> {
  const byName = new Map<string, Service>();
  for (const service of services) {
    const { clusterIP } = service.spec ?? {};
    const name = service.metadata.name ?? "";
    if (!clusterIP || clusterIP === "None") continue;
    const isMaster = service.metadata.namespace === "default" && name === "kubernetes";
    if (service.metadata.namespace === namespace && enableServiceLinks) byName.set(name, service);
    else if (isMaster && !byName.has(name)) byName.set(name, service);
  }
  const env = new Map<string, string>();
  for (const [name, service] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1))) addService(env, name, service);
  return env;
}

function addService(env: Map<string, string>, name: string, service: Service): void {
  const prefix = variableName(name);
  const host = service.spec?.clusterIP ?? "";
  const ports = service.spec?.ports ?? [];
  env.set(`${prefix}_SERVICE_HOST`, host);
  for (const [index, port] of ports.entries()) {
    if (index === 0) env.set(`${prefix}_SERVICE_PORT`, String(port.port));
    if (port.name) env.set(`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port));
  }
  for (const [index, port] of ports.entries()) {
    const protocol = port.protocol ?? "TCP";
    const url = `${protocol.toLowerCase()}://${host.includes(":") ? `[${host}]` : host}:${port.port}`;
    const link = `${prefix}_PORT_${port.port}_${protocol}`;
    if (index === 0) env.set(`${prefix}_PORT`, url);
    env.set(link, url);
    env.set(`${link}_PROTO`, protocol.toLowerCase());
    env.set(`${link}_PORT`, String(port.port));
    env.set(`${link}_ADDR`, host);
  }
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll("-", "_");
}
