#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Turns ip_blocks.txt, blocks/*.regs and amdgpu's register headers into C++ tables.
"""usage: generate.py ASIC_REG_DIR OUTPUT_DIR

Writes ignored.hpp (for COVERAGE.md), ip_blocks.hpp (for the discovery table), registers.hpp (constants of the declared
registers), register_tables.cpp (policies of the declared ones, names of all) and
other_gpus.cpp (where other GPUs have them: gpus/*.txt).
"""

import fnmatch
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
AID_DWORDS = 0x20000
OTHERS = 3 * AID_DWORDS  # behind the last engine of another GPU, which is where a second AID would be
OWNERS = {"gpu", "aid", "xcc", "sdma"}
# "name" is a constant and no more: an access to the register stays unmodelled.
POLICIES = {"ram", "unit", "port", "errors", "name"}
IGNORED = {"ram", "port", "errors"}  # writes to these registers have no effect, for a reason
TREATMENTS = {"acts", "reports", "ignores"}
MASKS = "gc/gc_9_4_3_sh_mask.h"


def fail(message):
    sys.exit(f"generate.py: {message}")


def read_lines(path):
    """(line number, words) of each line that is not empty without its comment."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if words:
            yield number, words


def is_heading(comment):
    return not comment or comment[0].startswith("---")


def read_reasons(path):
    """Line number -> the comment right above the line, or above its neighbours. A heading is none."""
    reasons, comment, ended = {}, [], True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            if ended or is_heading(comment):
                comment, ended = [], False
            if not line.startswith("# SPDX"):
                comment.append(line.lstrip("# ").strip())
        elif not line.strip():
            comment, ended = [], True
        else:
            ended = True
        reasons[number] = "" if is_heading(comment) else " ".join(comment)
    return reasons


def read_blocks():
    blocks = []
    for number, words in read_lines(HERE / "ip_blocks.txt"):
        if len(words) < 7:
            fail(f"ip_blocks.txt:{number}: want at least 7 columns, got {len(words)}")
        if words[2] not in OWNERS:
            fail(f"ip_blocks.txt:{number}: '{words[2]}' is none of {', '.join(sorted(OWNERS))}")
        blocks.append({
            "name": words[0], "id": int(words[1]), "owner": words[2],
            "version": [int(part) for part in words[3].split(".")],
            "header": words[4], "namespace": words[5],
            "bases": [int(base, 0) for base in words[6:]],
        })
    return blocks


def read_header(path):
    """Register name -> (offset, index of the base) of one amdgpu offset header."""
    if not path.is_file():
        fail(f"{path}: no such register header; point -DLINUX_SOURCE at a Linux 6.12 source")
    text = path.read_text()
    offsets = dict(re.findall(r"#define (?:reg|mm)(\w+)\s+(0x[0-9a-fA-F]+)\s", text))
    result = {}
    for name, offset in offsets.items():
        if name + "_BASE_IDX" in offsets or name.endswith("_BASE_IDX"):
            continue
        result[name] = int(offset, 16)
    indices = dict(re.findall(r"#define (?:reg|mm)(\w+)_BASE_IDX\s+(\d+)", text))
    return {name: (offset, int(indices[name])) for name, offset in result.items()
            if name in indices}


def block_registers(block, asic_reg):
    """Register name -> dword in BAR 5, for those in the first AID's part of it."""
    registers = {}
    for name, (offset, index) in read_header(asic_reg / block["header"]).items():
        if index < len(block["bases"]) and block["bases"][index] + offset < AID_DWORDS:
            registers[name] = block["bases"][index] + offset
    return registers


def read_declarations(path):
    """(policy, name or pattern, line number) of one blocks/*.regs file."""
    declarations = []
    for number, words in read_lines(path):
        if len(words) < 2 or words[0] not in POLICIES:
            fail(f"{path.name}:{number}: want '{'|'.join(sorted(POLICIES))} NAME...'")
        declarations += [(words[0], word, number) for word in words[1:]]
    return declarations


def declared(block, registers):
    """Register name -> policy. A name that the headers do not have is an error."""
    stem = re.sub(r"\d+$", "", block["namespace"])
    path = HERE / "blocks" / f"{stem}.regs"
    result = {}
    for policy, pattern, number in read_declarations(path):
        names = [pattern] if pattern in registers else fnmatch.filter(registers, pattern)
        if not names:
            fail(f"{path.name}:{number}: {block['header']} has no register '{pattern}'")
        for name in names:
            result.setdefault(name, policy)
    return result


def ignored_registers():
    """Rows of the table of registers without an effect: file, names, reason."""
    rows = []
    for path in sorted((HERE / "blocks").glob("*.regs")):
        reasons = read_reasons(path)
        for number, words in read_lines(path):
            if words[0] not in IGNORED:
                continue
            if not reasons[number]:
                fail(f"{path.name}:{number}: say in a comment above why a write to {words[1]} may have no effect")
            if rows and rows[-1][0] == path.stem and rows[-1][2] == reasons[number]:
                rows[-1][1].extend(words[1:])
            else:
                rows.append((path.stem, words[1:], reasons[number]))
    return rows


def ignored_fields(asic_reg):
    """The same for fields of registers. Each field of a register of fields.txt has one line there."""
    path = HERE / "fields.txt"
    masks = re.findall(r"#define (\w+?)__(\w+)_MASK\s", (asic_reg / MASKS).read_text())
    reasons, named, rows = read_reasons(path), {}, []
    for number, words in read_lines(path):
        if words[0] not in TREATMENTS or len(words) < 3:
            fail(f"{path.name}:{number}: want '{'|'.join(sorted(TREATMENTS))} REGISTER FIELD...'")
        known = named.setdefault(words[1], set())
        for field in words[2:]:
            if field in known or (words[1], field) not in masks:
                fail(f"{path.name}:{number}: {words[1]} has no field {field}, or it is there twice")
            known.add(field)
        if words[0] == "ignores":
            if not reasons[number]:
                fail(f"{path.name}:{number}: say in a comment above why these may have no effect")
            rows.append((words[1], words[2:], reasons[number]))
    for register, fields in named.items():
        rest = [field for of, field in masks if of == register and field not in fields]
        if rest:
            fail(f"{path.name}: say what the model does with {register}: {' '.join(rest)}")
    return rows


def write_ignored(rows, output):
    lines = ["| of | ignored | why |", "|---|---|---|"]
    lines += [f"| {where} | {', '.join(f'`{name}`' for name in names)} | {reason} |" for where, names, reason in rows]
    table = "\n".join(lines)
    output.write_text("\n".join([
        "// SPDX-License-Identifier: MIT", "// Generated by model/regs/generate.py.", "#pragma once",
        "namespace vgpu {", f'inline constexpr const char* ignored_table = R"x({table}\n)x";', "} // namespace vgpu", ""]))


def write_ip_blocks(blocks, output):
    rows = []
    for block in blocks:
        bases = ", ".join(f"0x{base:x}" for base in block["bases"])
        version = ", ".join(str(part) for part in block["version"])
        rows.append(f'    IpBlock{{"{block["name"]}", {block["id"]}, IpOwner::{block["owner"]}, '
                    f'{{{version}}}, {len(block["bases"])}, {{{bases}}}}},')
    output.write_text("\n".join([
        "// SPDX-License-Identifier: MIT", "// Generated by model/regs/generate.py.",
        "#pragma once", '#include "model/regs/ip_block.hpp"', "#include <array>", "",
        "namespace vgpu {",
        f"inline constexpr std::array<IpBlock, {len(blocks)}> ip_blocks = {{", *rows, "};",
        "} // namespace vgpu", ""]))


def write_constants(constants, output):
    lines = ["// SPDX-License-Identifier: MIT", "// Generated by model/regs/generate.py.",
             "#pragma once", "#include <cstdint>",
             "// NOLINTBEGIN(readability-identifier-naming): names of the hardware's headers"]
    for namespace, names in constants.items():
        lines.append(f"namespace vgpu::reg::{namespace} {{")
        lines += [f"inline constexpr std::uint32_t {name} = 0x{dword:x};"
                  for name, dword in sorted(names.items(), key=lambda item: item[1])]
        lines.append(f"}} // namespace vgpu::reg::{namespace}")
    lines += ["// NOLINTEND(readability-identifier-naming)", ""]
    output.write_text("\n".join(lines))


def write_tables(names, policies, output):
    lines = ["// SPDX-License-Identifier: MIT", "// Generated by model/regs/generate.py.",
             '#include "model/regs/register_tables.hpp"', "", "namespace vgpu {", "namespace {",
             "constexpr NamedRegister names[] = {"]
    lines += [f'    {{0x{dword:x}, "{name}"}},' for dword, name in sorted(names.items())]
    lines += ["};", "constexpr DeclaredRegister declarations[] = {"]
    lines += [f"    {{0x{dword:x}, RegisterPolicy::{policy}}},"
              for dword, policy in sorted(policies.items())]
    lines += ["};", "} // namespace",
              "std::span<const NamedRegister> named_registers() { return names; }",
              "std::span<const DeclaredRegister> declared_registers() { return declarations; }",
              "} // namespace vgpu", ""]
    output.write_text("\n".join(lines))


def gpu_lines(gpu):
    for number, words in read_lines(HERE / "gpus" / f"{gpu}.txt"):
        if words[0] not in ("block", "same", "name", "strip", "ram", "errors") or len(words) < 3:
            fail(f"gpus/{gpu}.txt:{number}: want block, same, name, strip, ram or errors, and what is of it")
        yield number, words[0], words[1], words[2:]


def gpu_registers(gpu, asic_reg, registers):
    """The tables of OtherGpu (register_tables.hpp)."""
    found = {}  # dword -> where a MI300X has it, and the SDMA engine
    others = {}  # dword -> name, of those that a MI300X has not
    policies, policies_of_others = {}, {}
    prefixes = {}  # namespace -> what its header's names have more
    taken = {dword for names in registers.values() for dword in names.values()}
    for number, what, namespace, words in gpu_lines(gpu):
        known = registers.get("sdma0" if namespace.startswith("sdma") else namespace, {})
        if what == "strip":
            prefixes[namespace] = re.compile("^(?:" + "|".join(words) + ")")
        elif what == "name":
            found[int(words[1], 0)] = (known[words[0]], 0)
        elif what in ("block", "same"):
            engine = int(namespace[4:]) if namespace.startswith("sdma") else 0
            block = {"header": words[0], "bases": [int(base, 0) for base in words[1:]]}
            for name, dword in block_registers(block, asic_reg).items():
                name = re.sub("^SDMA0_", "SDMA_", name)
                if namespace in prefixes:
                    name = prefixes[namespace].sub("", name)
                if name in known and what == "block":
                    found[dword] = (known[name], engine)
                    others.pop(dword, None)
                elif dword not in found and (what == "block" or dword not in taken):
                    others[dword] = f"{namespace}.{name}"
        else:
            for word in words:
                if word.startswith("0x"):
                    others.setdefault(int(word, 0), f"{namespace}.{word}")
                here = {dword for dword, name in others.items()
                        if fnmatch.fnmatchcase(name, f"{namespace}.{word}")}
                there = {known[name] for name in fnmatch.filter(known, word)}
                if there and namespace not in ("sdma0", *registers):
                    fail(f"gpus/{gpu}.txt:{number}: '{word}' of all engines belongs into blocks/sdma.regs")
                if not here and not there:
                    fail(f"gpus/{gpu}.txt:{number}: there is no register '{namespace}.{word}'")
                policies |= dict.fromkeys(there, what)
                policies_of_others |= dict.fromkeys(here, what)
    # One in the place of another of a MI300X goes where nothing is.
    aside = {dword: dword + OTHERS for dword in others if dword in taken}
    moved = [(dword, *place) for dword, place in found.items() if place != (dword, 0)]
    return {
        "aliases": sorted(moved + [(dword, place, 0) for dword, place in aside.items()]),
        "names": sorted((aside.get(dword, dword), name) for dword, name in others.items()),
        "declared": sorted((policies | {aside.get(dword, dword): policy
                                        for dword, policy in policies_of_others.items()}).items()),
    }


def write_gpus(gpus, output):
    lines = ["// SPDX-License-Identifier: MIT", "// Generated by model/regs/generate.py.",
             '#include "model/regs/register_tables.hpp"', "", "namespace vgpu {", "namespace {"]
    for gpu, tables in gpus.items():
        lines.append(f"constexpr RegisterAlias {gpu}_aliases[] = {{")
        lines += [f"    {{0x{dword:x}, 0x{place:x}, {engine}}}," for dword, place, engine in tables["aliases"]]
        lines += ["};", f"constexpr NamedRegister {gpu}_names[] = {{"]
        lines += [f'    {{0x{dword:x}, "{name}"}},' for dword, name in tables["names"]]
        lines += ["};", f"constexpr DeclaredRegister {gpu}_declared[] = {{"]
        lines += [f"    {{0x{dword:x}, RegisterPolicy::{policy}}}," for dword, policy in tables["declared"]]
        lines.append("};")
    lines += ["} // namespace", "OtherGpu other_gpu(Gpu gpu) {", "    switch (gpu) {",
              "    case Gpu::mi300x: break;"]
    lines += [f"    case Gpu::{gpu}: return {{{gpu}_aliases, {gpu}_names, {gpu}_declared}};" for gpu in gpus]
    lines += ["    }", "    return {};", "}", "} // namespace vgpu", ""]
    output.write_text("\n".join(lines))


def main():
    if len(sys.argv) != 3:
        fail(__doc__)
    asic_reg, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    blocks = read_blocks()
    constants, names, policies, known = {}, {}, {}, {}
    for block in blocks:
        if block["header"] == "-":
            continue
        namespace = block["namespace"]
        registers = block_registers(block, asic_reg)
        known[namespace] = registers
        chosen = declared(block, registers)
        constants[namespace] = {name: registers[name] for name in chosen}
        # Declared names first: several blocks' headers may name one dword (aliases).
        for name, policy in chosen.items():
            if policy != "name":
                policies.setdefault(registers[name], policy)
            names.setdefault(registers[name], f"{namespace}.{name}")
        for name, dword in registers.items():
            names.setdefault(dword, f"{namespace}.{name}")
    write_ip_blocks(blocks, output / "ip_blocks.hpp")
    write_ignored(ignored_registers() + ignored_fields(asic_reg), output / "ignored.hpp")
    write_constants(constants, output / "registers.hpp")
    write_tables(names, policies, output / "register_tables.cpp")
    gpus = {path.stem: gpu_registers(path.stem, asic_reg, known)
            for path in sorted((HERE / "gpus").glob("*.txt"))}
    write_gpus(gpus, output / "other_gpus.cpp")


if __name__ == "__main__":
    main()
