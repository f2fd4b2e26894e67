// A program of a few instructions that holds a pod's shared process namespace: as its process 1 it reaps orphans by ignoring
// SIGCHLD, and otherwise sleeps. It shuts itself in: an empty root, no user, no privileges, closed to debuggers. A page of memory is
// all it takes.

import { arm64, dataAddress, elfProgram, type Processor, type SystemCall, words, x64 } from "./elf-program.ts";

const nobody = 65535;

interface Machine {
  readonly processor: Processor;
  readonly calls: {
    chroot: number;
    setgroups: number;
    setgid: number;
    setuid: number;
    prctl: number;
    sigaction: number;
  };
  /** Waits for ever. */
  readonly sleep: SystemCall;
  /** An endless jump back over so many bytes. */
  jumpBack(bytes: number): Buffer;
}

const machines: Record<string, Machine> = {
  x64: {
    processor: x64,
    calls: { chroot: 161, setgroups: 116, setgid: 106, setuid: 105, prctl: 157, sigaction: 13 },
    sleep: [34],
    jumpBack: (bytes) => Buffer.from([0xeb, 256 - (bytes + 2)]),
  },
  arm64: {
    processor: arm64,
    calls: { chroot: 51, setgroups: 159, setgid: 144, setuid: 146, prctl: 167, sigaction: 134 },
    sleep: [73, 0, 0, 0, 0, 0],
    jumpBack: (bytes) => words(0x14000000 | (-(bytes / 4) & 0x3ffffff)),
  },
};

/** The program as an ELF file, or undefined for an architecture it was not written for. */
export function holderProgram(arch: string = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (!machine) return undefined;
  const { calls, processor } = machine;
  // "." for chroot, then an ignoring signal action of 32 bytes.
  const data = Buffer.alloc(40);
  data.write(".", 0);
  data.writeUInt8(1, 8);
  const steps: SystemCall[] = [
    [calls.chroot, dataAddress],
    [calls.sigaction, 17, dataAddress + 8, 0, 8],
    [calls.setgroups, 0, 0],
    [calls.setgid, nobody],
    [calls.setuid, nobody],
    [calls.prctl, 4, 0, 0, 0, 0],
    [calls.prctl, 38, 1, 0, 0, 0],
  ];
  const sleep = processor.assemble(machine.sleep);
  const code = [...steps.map((call) => processor.assemble(call)), sleep, machine.jumpBack(sleep.length)];
  return elfProgram(processor, data, Buffer.concat(code));
}
