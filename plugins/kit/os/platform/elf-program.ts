// Programs of a few instructions, written as machine code because no compiler is at hand on a box: what each processor calls things,
// and the file around them.

/** A system call by its number and up to five arguments. */
export type SystemCall = [number: number, ...args: number[]];

export interface Processor {
  readonly elfMachine: number;
  assemble(call: SystemCall): Buffer;
}

/** Instructions or values of 32 bits. */
export function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => bytes.writeUInt32LE(value >>> 0, at * 4));
  return bytes;
}

export const x64: Processor = {
  elfMachine: 62,
  assemble([number, ...args]) {
    // mov edi / esi / edx / r10d / r8d, then eax, then syscall.
    const registers = [[0xbf], [0xbe], [0xba], [0x41, 0xba], [0x41, 0xb8]];
    const moves = args.map((value, at) => Buffer.concat([Buffer.from(registers[at] as number[]), words(value)]));
    return Buffer.concat([...moves, Buffer.from([0xb8]), words(number), Buffer.from([0x0f, 0x05])]);
  },
};

export const arm64: Processor = {
  elfMachine: 183,
  assemble([number, ...args]) {
    // movz and movk into x0 to x4 and x8, then svc 0.
    const load = (register: number, value: number) =>
      words(0xd2800000 | ((value & 0xffff) << 5) | register, 0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register);
    return Buffer.concat([...args.map((value, at) => load(at, value)), load(8, number), words(0xd4000001)]);
  },
};

const headerBytes = 64 + 56;
const baseAddress = 0x400000;

/** Where the program's data will be. */
export const dataAddress = baseAddress + headerBytes;

/** A static ELF file of one segment, readable and executable: the data, then the code, which is entered at its beginning. */
export function elfProgram({ elfMachine }: Processor, data: Buffer, code: Buffer): Buffer {
  const bytes = headerBytes + data.length + code.length;
  const header = Buffer.alloc(headerBytes);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(elfMachine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(dataAddress + data.length), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64);
  header.writeUInt32LE(5, 68);
  header.writeBigUInt64LE(BigInt(baseAddress), 80);
  header.writeBigUInt64LE(BigInt(baseAddress), 88);
  header.writeBigUInt64LE(BigInt(bytes), 96);
  header.writeBigUInt64LE(BigInt(bytes), 104);
  header.writeBigUInt64LE(4096n, 112);
  return Buffer.concat([header, data, code]);
}
