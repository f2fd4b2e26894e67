// The smallest static program that sleeps for ever, written as machine code so that tests need no compiler.

/** `for (;;) pause()`: ARM64 has no pause, so there it is `ppoll` of nothing. */
const code: Record<string, { machine: number; bytes: Buffer }> = {
  // mov eax, 34; syscall; jmp -9
  x64: { machine: 62, bytes: Buffer.from("b8220000000f05ebf7", "hex") },
  // mov x8, 73; mov x0..x3, 0; svc 0; b -24
  arm64: {
    machine: 183,
    bytes: words(0xd2800928, 0xd2800000, 0xd2800001, 0xd2800002, 0xd2800003, 0xd4000001, 0x17fffffa),
  },
};

function words(...values: number[]): Buffer {
  return Buffer.from(new Uint32Array(values).buffer);
}

/** A 64-bit ELF of one segment for the machine that runs the tests. */
export function pauseProgram(arch: string = process.arch): Buffer {
  const program = code[arch];
  if (!program) throw new Error(`no pause program for ${arch}`);
  const base = 0x400000n;
  const headers = 64 + 56;
  const elf = Buffer.alloc(headers);
  Buffer.from("7f454c46020101", "hex").copy(elf); // magic, 64 bits, little endian, version 1
  elf.writeUInt16LE(2, 16); // executable
  elf.writeUInt16LE(program.machine, 18);
  elf.writeUInt32LE(1, 20);
  elf.writeBigUInt64LE(base + BigInt(headers), 24); // entry
  elf.writeBigUInt64LE(64n, 32); // where the program headers are
  elf.writeUInt16LE(64, 52);
  elf.writeUInt16LE(56, 54);
  elf.writeUInt16LE(1, 56);
  const size = BigInt(headers + program.bytes.length);
  elf.writeUInt32LE(1, 64); // load
  elf.writeUInt32LE(5, 68); // readable and executable
  elf.writeBigUInt64LE(base, 80);
  elf.writeBigUInt64LE(base, 88);
  elf.writeBigUInt64LE(size, 96);
  elf.writeBigUInt64LE(size, 104);
  elf.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([elf, program.bytes]);
}
