// What the node has and what of it pods may use.

import {
  formatQuantity,
  parseQuantity,
  quantityMilli,
  quantityOf,
  quantityOfMilli,
  quantityValue,
} from "../../plugins/kit/kube/quantity.ts";
import type { MachineFacts } from "../host/machine.ts";

export type ResourceList = Record<string, string>;

export interface CapacityInput {
  readonly machine: MachineFacts;
  /** Size of the file system that pods' data lies on. */
  readonly storageBytes: number;
  readonly maxPods: number;
  /** Set aside for the system and for Skiff itself: cpu, memory, ephemeral-storage. */
  readonly reserved: readonly ResourceList[];
  /** Hard eviction thresholds, never promised to pods. */
  readonly evictionMemoryBytes: bigint;
  readonly evictionStorageBytes: bigint;
  /** Devices and other countable things: all of them, and those that work. */
  readonly extended: Readonly<Record<string, { readonly capacity: number; readonly allocatable: number }>>;
}

/** Whether a name is of something that the node itself knows nothing of unless it is told: `vendor.example/thing`. */
export function isExtended(name: string): boolean {
  return name.includes("/") && !name.includes("kubernetes.io/");
}

/** Extended resources that somebody else put on the node's status: counted by the scheduler, held by nobody here. */
export function foreignResources(
  capacity: Readonly<Record<string, string | number>> | undefined,
  own: CapacityInput["extended"],
): CapacityInput["extended"] {
  const foreign = Object.entries(capacity ?? {}).filter(([name]) => isExtended(name) && !(name in own));
  return Object.fromEntries(
    foreign.map(([name, text]) => {
      const amount = Number(quantityValue(parseQuantity(text)));
      return [name, { capacity: amount, allocatable: amount }];
    }),
  );
}

/** What several lists set aside together. */
export function reservedOf(lists: readonly ResourceList[]): {
  milliCpu: bigint;
  memoryBytes: bigint;
  storageBytes: bigint;
} {
  const texts = (name: string) => lists.map((list) => list[name]).filter((text) => text !== undefined);
  const bytes = (name: string) => texts(name).reduce((sum, text) => sum + quantityValue(parseQuantity(text)), 0n);
  return {
    milliCpu: texts("cpu").reduce((sum, text) => sum + quantityMilli(parseQuantity(text)), 0n),
    memoryBytes: bytes("memory"),
    storageBytes: bytes("ephemeral-storage"),
  };
}

export function capacityOf(input: CapacityInput): { capacity: ResourceList; allocatable: ResourceList } {
  const { machine } = input;
  const reserved = reservedOf(input.reserved);
  const hugepages = machine.hugepages.reduce((sum, page) => sum + page.bytes, 0n);
  const storage = BigInt(Math.floor(input.storageBytes));
  const shared: ResourceList = { pods: String(input.maxPods) };
  for (const { size, bytes: amount } of machine.hugepages) shared[`hugepages-${sizeName(size)}`] = binary(amount);
  const extended = (of: "capacity" | "allocatable"): ResourceList =>
    Object.fromEntries(Object.entries(input.extended).map(([name, count]) => [name, String(count[of])]));
  const memory = machine.memoryBytes - reserved.memoryBytes - input.evictionMemoryBytes - hugepages;
  return {
    capacity: {
      cpu: String(machine.cpus),
      memory: kibi(machine.memoryBytes),
      "ephemeral-storage": kibi(storage),
      ...shared,
      ...extended("capacity"),
    },
    allocatable: {
      cpu: formatQuantity(quantityOfMilli(atLeastZero(BigInt(machine.cpus) * 1000n - reserved.milliCpu))),
      memory: kibi(atLeastZero(memory)),
      "ephemeral-storage": String(atLeastZero(storage - input.evictionStorageBytes - reserved.storageBytes)),
      ...shared,
      ...extended("allocatable"),
    },
  };
}

export function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value;
}

function kibi(bytes: bigint): string {
  return `${bytes / 1024n}Ki`;
}

function binary(bytes: bigint): string {
  return formatQuantity(quantityOf(bytes, "binary"));
}

function sizeName(bytes: bigint): string {
  return bytes >= 1n << 30n ? `${bytes >> 30n}Gi` : bytes >= 1n << 20n ? `${bytes >> 20n}Mi` : `${bytes >> 10n}Ki`;
}
