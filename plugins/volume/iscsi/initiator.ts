// The initiator's own program, iscsiadm: discovery, log-in and log-out. Passwords go to it and into no message.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import { Fault, isFault } from "../../kit/base/fault.ts";
import { run, type RunResult } from "../../kit/os/platform/process.ts";
import type { Disk } from "./disk.ts";

export interface InitiatorOptions {
  readonly program: string;
  /** Where the kernel's links to disks lie. */
  readonly devices: string;
  readonly clock: Clock;
}

/** Keys and values as iscsiadm calls them; absent where the volume asks for no authentication. */
export interface Chap {
  readonly discovery?: ReadonlyMap<string, string>;
  readonly session?: ReadonlyMap<string, string>;
}

const answerMs = 60_000;
const deviceWithinMs = 30_000;
const lookAgainMs = 100;
// iscsiadm's own codes: already there, and nothing there.
const sessionExists = 15;
const noObjects = 21;

export class Initiator {
  readonly #options: InitiatorOptions;

  constructor(options: InitiatorOptions) {
    this.#options = options;
  }

  /** Logs in at every portal that answers and resolves with the disk's device. At least one must answer. */
  async attach(disk: Disk, chap: Chap, call: Call): Promise<string> {
    if (disk.initiatorName) await this.#makeIface(disk, disk.initiatorName, call);
    const failures: string[] = [];
    const reached: string[] = [];
    for (const portal of disk.portals) {
      try {
        await this.#logIn(disk, portal, chap, call);
        reached.push(portal);
      } catch (error) {
        if (!isFault(error, "unavailable")) throw error;
        failures.push(error.message);
      }
    }
    if (reached.length === 0) throw new Fault("unavailable", failures.join("; "));
    return this.#device(disk, reached, call);
  }

  /** Logs out at the given portals and forgets them; what is not there is fine. */
  async detach(disk: Disk, portals: readonly string[], call: Call): Promise<void> {
    try {
      await this.#logOut(disk, portals, call);
    } catch (error) {
      // Without the program nobody can have logged in.
      if (!isFault(error, "unsupported")) throw error;
    }
  }

  async #logOut(disk: Disk, portals: readonly string[], call: Call): Promise<void> {
    for (const portal of portals) {
      const node = ["-m", "node", "-p", portal, "-T", disk.iqn, "-I", disk.iface];
      this.#check(await this.#run([...node, "--logout"], call), `log out of ${disk.iqn} at ${portal}`, noObjects);
      this.#check(await this.#run([...node, "-o", "delete"], call), `forget ${disk.iqn} at ${portal}`, noObjects);
    }
    if (disk.iface === disk.baseIface) return;
    this.#check(
      await this.#run(["-m", "iface", "-I", disk.iface, "-o", "delete"], call),
      "forget an interface",
      noObjects,
    );
  }

  async #makeIface({ iface, baseIface }: Disk, initiatorName: string, call: Call): Promise<void> {
    const made = await this.#run(["-m", "iface", "-I", iface, "-o", "new"], call);
    this.#check(made, `make interface ${iface}`, sessionExists);
    const shown = this.#check(
      await this.#run(["-m", "iface", "-I", baseIface, "-o", "show"], call),
      "read an interface",
    );
    const settings = new Map(
      [...shown.matchAll(/^(iface\.\S+) = (.*)$/gm)]
        .map(([, key = "", value = ""]) => [key, value.trim()] as const)
        .filter(([key, value]) => value !== "<empty>" && key !== "iface.iscsi_ifacename"),
    );
    settings.set("iface.initiatorname", initiatorName);
    for (const [key, value] of settings) {
      const update = ["-m", "iface", "-I", iface, "-o", "update", "-n", key, "-v", value];
      this.#check(await this.#run(update, call), `set ${key} of ${iface}`);
    }
  }

  async #logIn(disk: Disk, portal: string, chap: Chap, call: Call): Promise<void> {
    await this.#discover(disk, portal, chap, call);
    const node = ["-m", "node", "-p", portal, "-T", disk.iqn, "-I", disk.iface];
    for (const [key, value] of chap.session ?? []) {
      const update = [...node, "-o", "update", "-n", key, "-v", value];
      this.#check(await this.#run(update, call), `set ${key} for ${disk.iqn}`);
    }
    this.#check(await this.#run([...node, "--login"], call), `log in to ${disk.iqn} at ${portal}`, sessionExists);
    // After a reboot the pods decide anew what is needed.
    const manual = [...node, "-o", "update", "-n", "node.startup", "-v", "manual"];
    this.#check(await this.#run(manual, call), `set node.startup for ${disk.iqn}`);
  }

  async #discover(disk: Disk, portal: string, chap: Chap, call: Call): Promise<void> {
    const where = ["-t", "sendtargets", "-p", portal, "-I", disk.iface];
    if (chap.discovery) {
      const database = ["-m", "discoverydb", ...where];
      this.#check(await this.#run([...database, "-o", "new"], call), `set up discovery at ${portal}`, sessionExists);
      for (const [key, value] of chap.discovery) {
        const update = [...database, "-o", "update", "-n", key, "-v", value];
        this.#check(await this.#run(update, call), `set ${key} for discovery at ${portal}`);
      }
      this.#check(await this.#run([...database, "--discover"], call), `discover targets at ${portal}`);
      return;
    }
    this.#check(await this.#run(["-m", "discovery", ...where, "-o", "new"], call), `discover targets at ${portal}`);
  }

  async #device(disk: Disk, portals: readonly string[], call: Call): Promise<string> {
    const { devices, clock } = this.#options;
    const names = portals.map((portal) => join(devices, `ip-${portal}-iscsi-${disk.iqn}-lun-${disk.lun}`));
    const giveUpAt = clock.monotonic() + deviceWithinMs;
    for (;;) {
      const found = names.find((name) => existsSync(name));
      if (found) return multipathOf(realpathSync(found));
      if (clock.monotonic() > giveUpAt)
        throw new Fault("unavailable", `no disk has appeared for ${disk.iqn} lun ${disk.lun} (${names.join(", ")})`);
      await clock.sleep(lookAgainMs, call);
    }
  }

  async #run(args: readonly string[], call: Call): Promise<RunResult> {
    try {
      return await run(this.#options.program, args, { timeoutMs: answerMs }, call);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      const message = `Cannot use iSCSI volumes: there is no ${this.#options.program} (fix: apt-get install open-iscsi)`;
      throw new Fault("unsupported", message, { cause: error });
    }
  }

  #check({ code, stdout, stderr }: RunResult, doing: string, fine?: number): string {
    if (code === 0 || code === fine) return stdout;
    const said = (stderr.trim() || stdout.trim()).split("\n")[0] || `iscsiadm ended with code ${code}`;
    throw new Fault("unavailable", `Cannot ${doing}: ${said}`);
  }
}

/** The device that joins several paths to one disk, where the kernel has made one. */
function multipathOf(device: string): string {
  const holders = join("/sys/block", basename(device), "holders");
  const mapper = existsSync(holders) ? readdirSync(holders).find((name) => name.startsWith("dm-")) : undefined;
  return mapper ? join("/dev", mapper) : device;
}
