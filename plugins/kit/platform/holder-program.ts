// A program of a few instructions that holds a pod's shared process namespace: as its process 1 it reaps orphans by ignoring
// SIGCHLD, and otherwise sleeps. It shuts itself in: an empty root, no user, no privileges, closed to debuggers. Written as machine
// code because no compiler is at hand on a box, and a page of memory is all it takes.

const baseAddress = 0x400000;
const headerBytes = 64 + 56;
const nobody = 65535;

/** A system call by its number and up to five arguments. */
type SystemCall = [number: number, ...args: number[]];

interface Machine {
  readonly elfMachine: number;
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
  assemble(call: SystemCall): Buffer;
  /** An endless jump back over so many bytes. */
  jumpBack(bytes: number): Buffer;
}

const word = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

const x64: Machine = {
  elfMachine: 62,
  calls: { chroot: 161, setgroups: 116, setgid: 106, setuid: 105, prctl: 157, sigaction: 13 },
  sleep: [34],
  assemble([number, ...args]) {
    // mov edi / esi / edx / r10d / r8d, then eax, then syscall.
    const registers = [[0xbf], [0xbe], [0xba], [0x41, 0xba], [0x41, 0xb8]];
    const moves = args.map((value, at) => Buffer.concat([Buffer.from(registers[at] as number[]), word(value)]));
    return Buffer.concat([...moves, Buffer.from([0xb8]), word(number), Buffer.from([0x0f, 0x05])]);
  },
  jumpBack: (bytes) => Buffer.from([0xeb, 256 - (bytes + 2)]),
};

const arm64: Machine = {
  elfMachine: 183,
  calls: { chroot: 51, setgroups: 159, setgid: 144, setuid: 146, prctl: 167, sigaction: 134 },
  sleep: [73, 0, 0, 0, 0, 0],
  assemble([number, ...args]) {
    // movz and movk into x0 to x4 and x8, then svc 0.
    const load = (register: number, value: number) => [
      word(0xd2800000 | ((value & 0xffff) << 5) | register),
      word(0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register),
    ];
    return Buffer.concat([...args.flatMap((value, at) => load(at, value)), ...load(8, number), word(0xd4000001)]);
  },
  jumpBack: (bytes) => word(0x14000000 | (-(bytes / 4) & 0x3ffffff)),
};

const machines: Record<string, Machine> = { x64, arm64 };

/** The program as an ELF file, or undefined for an architecture it was not written for. */
export function holderProgram(arch: string = process.arch): Buffer | undefined {
  const machine = machines[arch];
  if (!machine) return undefined;
  const { calls } = machine;
  // After the headers: "." for chroot, then an ignoring signal action of 32 bytes.
  const dot = baseAddress + headerBytes;
  const action = dot + 8;
  const data = Buffer.alloc(40);
  data.write(".", 0);
  data.writeUInt8(1, 8);
  const code: SystemCall[] = [
    [calls.chroot, dot],
    [calls.sigaction, 17, action, 0, 8],
    [calls.setgroups, 0, 0],
    [calls.setgid, nobody],
    [calls.setuid, nobody],
    [calls.prctl, 4, 0, 0, 0, 0],
    [calls.prctl, 38, 1, 0, 0, 0],
  ];
  const sleep = machine.assemble(machine.sleep);
  const body = Buffer.concat([
    data,
    ...code.map((call) => machine.assemble(call)),
    sleep,
    machine.jumpBack(sleep.length),
  ]);
  return Buffer.concat([elfHeaders(machine.elfMachine, body.length, baseAddress + headerBytes + data.length), body]);
}

function elfHeaders(elfMachine: number, bodyBytes: number, entry: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(elfMachine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(entry), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  // One segment, readable and executable, that is the whole file.
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(BigInt(baseAddress), 80);
  header.writeBigUInt64LE(BigInt(baseAddress), 88);
  header.writeBigUInt64LE(BigInt(headerBytes + bodyBytes), 96);
  header.writeBigUInt64LE(BigInt(headerBytes + bodyBytes), 104);
  header.writeBigUInt64LE(4096n, 112);
  return header;
}
