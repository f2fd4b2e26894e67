// Debian's packages for boxes without a network: what the program calls, with everything that a small system may lack for it.

import type { Arch } from "./contents.ts";
import { withPrivateApt } from "./private-apt.ts";

/** busybox is for `skiff demo`. */
const wanted = ["runc", "conmon", "iproute2", "nftables", "busybox-static"];
export const debianArch: Record<Arch, string> = { x64: "amd64", arm64: "arm64" };
/** Of these priorities is what every Debian system has. */
const isEverywhere = /^Priority: (required|important)$/m;

/** Leaves the `.deb` files of the Debian release that this system's apt sources name in the folder. */
export function fetchDebianPackages(arch: Arch, folder: string): void {
  withPrivateApt(debianArch[arch], (apt) => {
    const present = new Set(apt.closure([...new Set(apt.named(isEverywhere))]));
    const taken = apt.closure(wanted).filter((name) => wanted.includes(name) || !present.has(name));
    apt.download(taken, folder);
  });
}
