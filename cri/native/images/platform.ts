// Which entry of an image index fits this machine.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Descriptor, Platform } from "./manifest.ts";

const architectures: Record<string, Platform> = {
  x64: { os: "linux", architecture: "amd64" },
  arm64: { os: "linux", architecture: "arm64", variant: "v8" },
  arm: { os: "linux", architecture: "arm", variant: "v7" },
  ia32: { os: "linux", architecture: "386" },
  riscv64: { os: "linux", architecture: "riscv64" },
  ppc64: { os: "linux", architecture: "ppc64le" },
  s390x: { os: "linux", architecture: "s390x" },
};

export function hostPlatform(arch: string = process.arch): Platform {
  return architectures[arch] ?? { os: "linux", architecture: arch };
}

/** Platforms this host can run, best first: a 64-bit ARM runs 32-bit images, a newer variant runs an older one. */
function runnable(host: Platform): Platform[] {
  const arm = (variant: number): Platform[] =>
    Array.from({ length: variant - 4 }, (_, step) => ({
      os: host.os,
      architecture: "arm",
      variant: `v${variant - step}`,
    }));
  if (host.architecture === "arm64") return [{ os: host.os, architecture: "arm64", variant: "v8" }, ...arm(8)];
  if (host.architecture === "arm") return arm(Number(host.variant?.slice(1) ?? "7"));
  if (host.architecture === "amd64") return [host, { os: host.os, architecture: "386" }];
  return [host];
}

// A missing variant means v8 for arm64 and v7 for arm, as the image specification has it.
const variantOf = (platform: Platform): string =>
  platform.variant ?? { arm64: "v8", arm: "v7" }[platform.architecture] ?? "";

export function choosePlatform(entries: readonly Descriptor[], host: Platform, what: string): Descriptor {
  for (const wanted of runnable(host)) {
    const found = entries.find(
      ({ platform }) =>
        platform !== undefined &&
        platform.os === wanted.os &&
        platform.architecture === wanted.architecture &&
        variantOf(platform) === variantOf(wanted),
    );
    if (found) return found;
  }
  const [only] = entries;
  if (entries.length === 1 && only && !only.platform) return only;
  const has = entries.map(
    ({ platform }) =>
      platform && `${platform.os}/${platform.architecture}${platform.variant ? `/${platform.variant}` : ""}`,
  );
  throw new Fault(
    "not-found",
    `Cannot use image ${what} on ${host.os}/${host.architecture}: it offers ${has.filter(Boolean).join(", ") || "nothing"}`,
  );
}
