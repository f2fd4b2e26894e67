// Files of one volume that would stand where another of its files stands, or below it: accepted, but not what is wanted.

import type { Volume } from "../../../plugins/kit/kube/objects/types.ts";

interface Origin {
  readonly path: string;
  readonly source: string;
}

export function warnOfOverlaps(volumes: readonly Volume[]): string[] {
  return volumes.flatMap((volume) => {
    const { name, configMap, secret, downwardAPI, projected } = volume;
    const warn = (kind: string) => (what: string) =>
      `volume ${JSON.stringify(name)} (${kind}): overlapping paths: ${what}`;
    const own = (items: readonly { path: string }[] | undefined, kind: string) =>
      overlaps((items ?? []).map(({ path }) => ({ path, source: "" }))).map(warn(kind));
    return [
      ...own(configMap?.items, `ConfigMap ${JSON.stringify(configMap?.name ?? "")}`),
      ...own(secret?.items, `Secret ${JSON.stringify(secret?.secretName ?? "")}`),
      ...own(downwardAPI?.items, "DownwardAPI"),
      ...(projected?.sources ?? [])
        .filter((source) => Object.keys(source).length === 0)
        .map(() => `volume ${JSON.stringify(name)} (Projected) has no sources provided`),
      ...overlaps((projected?.sources ?? []).flatMap(originsOf)).map(warn("Projected")),
    ];
  });
}

type Projection = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];

function originsOf({ configMap, secret, downwardAPI, serviceAccountToken }: Projection): Origin[] {
  const all = (items: readonly { path: string }[] | undefined, source: string) =>
    (items ?? []).map(({ path }) => ({ path, source }));
  return [
    ...all(configMap?.items, `ConfigMap ${JSON.stringify(configMap?.name ?? "")}`),
    ...all(secret?.items, `Secret ${JSON.stringify(secret?.name ?? "")}`),
    ...all(downwardAPI?.items, "DownwardAPI"),
    ...(serviceAccountToken ? [{ path: serviceAccountToken.path, source: "ServiceAccountToken" }] : []),
  ];
}

function overlaps(origins: readonly Origin[]): string[] {
  const seen: Origin[] = [];
  return origins.flatMap((origin) => {
    const path = (origin.path ?? "").replace(/\/+$/, "");
    const here = { ...origin, path };
    const found = path === "" ? [] : seen.filter((other) => other.path !== "" && meet(path, other.path));
    seen.push(here);
    return found.map((other) => `${shown(here)} with ${shown(other)}`);
  });
}

const meet = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

const shown = ({ path, source }: Origin): string =>
  source === "" ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;
