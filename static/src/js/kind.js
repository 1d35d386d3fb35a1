// Says what a file is by its first bytes, before it is sent. The server judges again, and decides.

const processors = { 0x03: "386", 0x28: "arm", 0x3e: "amd64", 0xb7: "arm64", 0xf3: "riscv64", 0x15: "ppc64le", 0x16: "s390x" };

const text = (bytes) => new TextDecoder("latin1").decode(bytes);

function elf(bytes) {
  const little = bytes[5] === 1;
  const machine = little ? bytes[18] | (bytes[19] << 8) : (bytes[18] << 8) | bytes[19];
  const processor = processors[machine] ?? "an unknown processor";
  return { words: `ELF program for ${processor}`, platform: `linux/${processor}` };
}

/** The program that a line after #! names: "#!/usr/bin/env -S python3 -u" → "python3". */
export function interpreterOf(line) {
  const parts = line.slice(2).trim().split(/\s+/);
  const program = parts[0].split("/").pop() === "env" ? (parts.find((part, i) => i > 0 && !part.startsWith("-") && !part.includes("=")) ?? "env") : parts[0];
  return program.split("/").pop();
}

function script(bytes) {
  return { words: `script for ${interpreterOf(text(bytes).split("\n", 1)[0])}`, platform: "" };
}

/** Gives {words, platform, problem}: platform is "" where any will do, problem "" where none is seen. */
export async function kindOf(file) {
  if (file.size === 0) return { words: "empty", platform: "", problem: "The file is empty: a program has at least one byte." };
  let bytes;
  try {
    bytes = new Uint8Array(await file.slice(0, 256).arrayBuffer());
  } catch {
    return { words: "", platform: "", problem: "It cannot be read: is it a folder? A program is a single file." };
  }
  const head = text(bytes.slice(0, 4));
  const known = (kind) => ({ platform: "", problem: "", ...kind });
  if (head === "\x7fELF" && bytes.length >= 20) return known(elf(bytes));
  if (head.startsWith("#!")) return known(script(bytes));
  if (head.startsWith("PK\x03\x04")) return known({ words: "JAR, run by java -jar" });
  if (head.startsWith("MZ")) return known({ words: "Windows program", platform: "windows" });
  if (["\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"].includes(head)) return known({ words: "macOS program", platform: "darwin" });
  return known({ words: "neither ELF, JAR nor #! script: its job has to name an interpreter" });
}
