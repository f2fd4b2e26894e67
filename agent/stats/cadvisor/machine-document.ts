// cAdvisor's machine document: cores and caches, memory, disks, network devices, ids; and the board itself, which Pi owners look for.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MachineFacts } from "../../host/machine.ts";
import { sectorBytes } from "../disk-stats.ts";
import type { MountedFileSystem } from "./filesystems.ts";
import type { Inventory } from "./inventory.ts";
import { timeOf } from "./stats-document.ts";
import { topology } from "./topology.ts";

export interface MachineInput {
  readonly facts: MachineFacts;
  readonly inventory: Inventory;
  readonly swapBytes: number;
  readonly fileSystems: readonly MountedFileSystem[];
  readonly now: number;
}

export function machineDocument({ facts, inventory, swapBytes, fileSystems, now }: MachineInput): object {
  const memory = Number(facts.memoryBytes);
  const hugepages = facts.hugepages.map(({ size, bytes }) => ({
    page_size: Number(size / 1024n),
    num_pages: size === 0n ? 0 : Number(bytes / size),
  }));
  return {
    timestamp: timeOf(now),
    vendor_id: vendorId() || inventory.cpu.vendor,
    cpu_model: inventory.cpu.brand,
    num_cores: facts.cpus,
    num_physical_cores: inventory.cpu.physicalCores || facts.cpus,
    num_sockets: inventory.cpu.sockets || 1,
    cpu_frequency_khz: inventory.cpu.maxKhz || frequencyKhz(),
    memory_capacity: memory,
    swap_capacity: swapBytes,
    memory_by_type: {},
    nvm: { memory_mode_capacity: 0, "app direct_mode_capacity": 0, avg_power_budget: 0 },
    hugepages,
    machine_id: facts.machineId,
    system_uuid: facts.systemUuid,
    boot_id: facts.bootId,
    filesystems: fileSystems.map(({ device, capacityBytes, inodes }) => ({
      device,
      capacity: capacityBytes,
      type: "vfs",
      inodes,
      has_inodes: inodes > 0,
    })),
    disk_map: diskMap(),
    network_devices: networkDevices(),
    topology: topology(memory, hugepages),
    cloud_provider: "Unknown",
    instance_type: "Unknown",
    instance_id: "None",
    board: {
      manufacturer: inventory.manufacturer,
      model: inventory.model,
      serial: inventory.serial,
      baseboard: inventory.board,
      disks: inventory.disks,
    },
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Kernels and boards differ in what they offer.
    return "";
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function vendorId(): string {
  const cpuinfo = read("/proc/cpuinfo");
  return /^(?:vendor_id|CPU implementer)\s*:\s*(.+)$/m.exec(cpuinfo)?.[1] ?? "";
}

function frequencyKhz(): number {
  const most = Number(read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  if (most > 0) return most;
  return Math.round(Number(/^cpu MHz\s*:\s*([\d.]+)$/m.exec(read("/proc/cpuinfo"))?.[1] ?? 0) * 1000);
}

/** Block devices that keep things, by their numbers. */
function diskMap(): Record<string, object> {
  const found: Record<string, object> = {};
  for (const name of names("/sys/block")) {
    if (/^(loop|ram|zram|sr)\d/.test(name)) continue;
    const numbers = read(`/sys/block/${name}/dev`);
    const [major, minor] = numbers.split(":").map(Number);
    const scheduler = /\[(.+)\]/.exec(read(`/sys/block/${name}/queue/scheduler`))?.[1] ?? "none";
    found[numbers] = { name, major, minor, size: Number(read(`/sys/block/${name}/size`)) * sectorBytes, scheduler };
  }
  return found;
}

function networkDevices(): object[] {
  const folder = "/sys/class/net";
  return names(folder)
    .filter((name) => !/^(lo|veth.*|docker.*)$/.test(name))
    .map((name) => {
      const of = (file: string) => read(join(folder, name, file));
      const speed = Number(of("speed"));
      return { name, mac_address: of("address"), speed: speed > 0 ? speed : 0, mtu: Number(of("mtu")) };
    });
}
