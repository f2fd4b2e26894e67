// The storage drivers that have registered on this node, by name.

import type { Call } from "../../kit/base/call.ts";
import { Fault } from "../../kit/base/fault.ts";
import type { NodeDrivers } from "../../kit/contracts/node-drivers.ts";
import type { SocketPlugin, SocketPluginUser } from "../../kit/contracts/plugin-sockets.ts";
import type { CsiDriver } from "./driver.ts";

export class Drivers implements SocketPluginUser {
  readonly #byName = new Map<string, CsiDriver>();
  readonly #node: NodeDrivers | undefined;

  constructor(node: NodeDrivers | undefined) {
    this.#node = node;
  }

  async register({ name, endpoint, versions }: SocketPlugin, call: Call): Promise<void> {
    if (!versions.some((version) => /^v?1\./.test(version) || version === "v1"))
      throw new Fault("unsupported", `driver "${name}" speaks CSI ${versions.join(", ")}: version 1 is needed`);
    // Loaded with the first driver: most nodes have none.
    const { CsiDriver } = await import("./driver.ts");
    const driver = new CsiDriver(name, endpoint);
    try {
      const { nodeId, maxVolumesPerNode, accessibleTopology } = await driver.info(call);
      if (nodeId === "") throw new Fault("invalid", `driver "${name}" does not say what it calls this node`);
      const maxVolumes = Number(maxVolumesPerNode);
      this.#byName.get(name)?.close();
      this.#byName.set(name, driver);
      this.#node?.set({
        name,
        nodeId,
        ...(maxVolumes > 0 ? { maxVolumes } : {}),
        topology: accessibleTopology?.segments ?? {},
      });
    } catch (error) {
      driver.close();
      throw error;
    }
  }

  gone(name: string): void {
    this.#byName.get(name)?.close();
    this.#byName.delete(name);
    this.#node?.remove(name);
  }

  named(name: string): CsiDriver {
    const driver = this.#byName.get(name);
    if (driver) return driver;
    throw new Fault("unavailable", `driver name ${name} not found in the list of registered CSI drivers`);
  }

  close(): void {
    for (const driver of this.#byName.values()) driver.close();
    this.#byName.clear();
  }
}
