// Facts of the machine that never change while it is on: model, board, processor, disks. Asked for once, when somebody first wants
// them: finding them out starts programs and takes a while.

import { readFile } from "node:fs/promises";
import type { Log } from "../../../plugins/kit/base/log.ts";

type Systeminformation = typeof import("systeminformation");

export interface Inventory {
  readonly manufacturer: string;
  readonly model: string;
  readonly serial: string;
  readonly board: { readonly manufacturer: string; readonly model: string; readonly version: string };
  readonly cpu: {
    readonly vendor: string;
    readonly brand: string;
    readonly physicalCores: number;
    readonly sockets: number;
    readonly maxKhz: number;
  };
  readonly disks: readonly {
    readonly name: string;
    readonly device: string;
    readonly kind: string;
    readonly interface: string;
    readonly bytes: number;
  }[];
}

const nothing: Inventory = {
  manufacturer: "",
  model: "",
  serial: "",
  board: { manufacturer: "", model: "", version: "" },
  cpu: { vendor: "", brand: "", physicalCores: 0, sockets: 0, maxKhz: 0 },
  disks: [],
};

/** Asks at the first call; who asks meanwhile or later shares the answer. What cannot be found out is left empty. */
export function openInventory(log: Log): () => Promise<Inventory> {
  let asked: Promise<Inventory> | undefined;
  return () => {
    asked ??= ask().catch((error: unknown) => {
      log.warn({ err: error }, "cannot find out what this machine is made of");
      return nothing;
    });
    return asked;
  };
}

async function ask(): Promise<Inventory> {
  // Bundled, a CommonJS module shows its names on its default export alone.
  const { default: facts } = (await import("systeminformation")) as unknown as { default: Systeminformation };
  const { system, baseboard, cpu, diskLayout } = facts;
  const [whole, board, chip, disks] = [await system(), await baseboard(), await cpu(), await diskLayout()];
  return {
    manufacturer: known(whole.manufacturer),
    // Boards without firmware tables tell their model and serial number in the device tree.
    model: (await deviceTree("model")) || known(whole.model),
    serial: (await deviceTree("serial-number")) || known(whole.serial),
    board: {
      manufacturer: known(board.manufacturer),
      model: known(board.model),
      version: known(board.version),
    },
    cpu: {
      vendor: known(chip.vendor),
      brand: known(chip.brand),
      physicalCores: chip.physicalCores,
      sockets: chip.processors,
      maxKhz: Math.round((chip.speedMax || chip.speed || 0) * 1e6),
    },
    disks: disks.map(({ name, device, type, interfaceType, size }) => ({
      name: known(name),
      device: known(device),
      kind: known(type),
      interface: known(interfaceType),
      bytes: size,
    })),
  };
}

const known = (text: string | undefined) => (text === undefined || text === "-" ? "" : text.trim());

async function deviceTree(name: string): Promise<string> {
  try {
    return (await readFile(`/proc/device-tree/${name}`, "utf8")).replaceAll("\0", "").trim();
  } catch {
    return "";
  }
}
