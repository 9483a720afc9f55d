//! zig build: build/{{name}}.wasm, a component.   zig build test: tests of the content on this machine.

const std = @import("std");

const name = "{{name}}";

pub fn build(b: *std.Build) void {
    // `wharf` from PATH, unless WHARF says another.
    const wharf = b.graph.environ_map.get("WHARF") orelse "wharf";

    // The contract in C.
    const bindings = b.addSystemCommand(&.{ wharf, "bindings", "--lang", "c", "--wit" });
    bindings.addDirectoryArg(b.path("wit"));
    bindings.addArg("-o");
    const gen = bindings.addOutputDirectoryArg("gen");
    for ([_][]const u8{ "wit/world.wit", "wit/deps/provider/provider.wit" }) |file| bindings.addFileInput(b.path(file));

    const sdk = b.createModule(.{ .root_source_file = b.path("sdk/wharf.zig") });
    const provider = b.createModule(.{
        .root_source_file = b.path("src/provider.zig"),
        .target = b.resolveTargetQuery(.{ .cpu_arch = .wasm32, .os_tag = .wasi }),
        .optimize = .ReleaseSmall, // .ReleaseSafe: checks at run time, which say on stderr what was wrong, for 100 KB more
        .link_libc = true,
        .strip = true,
        .imports = &.{.{ .name = "wharf", .module = sdk }},
    });
    provider.addIncludePath(gen);
    provider.addIncludePath(b.path("sdk/c"));
    provider.addCSourceFiles(.{ .root = b.path("sdk/c"), .files = &.{ "wharf.c", "wharf_base.c", "wharf_expand.c", "wharf_optional.c" } });
    provider.addCSourceFile(.{ .file = gen.path(b, "my_provider.c") });
    provider.addObjectFile(gen.path(b, "my_provider_component_type.o"));

    const core = b.addExecutable(.{ .name = name, .root_module = provider });
    core.wasi_exec_model = .reactor;
    core.entry = .disabled;
    core.rdynamic = true; // the contract's exports
    core.stack_size = 64 * 1024; // Zig would set 16 MiB of the provider's memory aside; over the end is a trap

    const component = b.addSystemCommand(&.{ wharf, "componentize" });
    component.addFileArg(core.getEmittedBin());
    component.addArg("--wit");
    component.addDirectoryArg(b.path("wit"));
    component.addArg("-o");
    const output = component.addOutputFileArg(name ++ ".wasm");
    const installed = b.addUpdateSourceFiles();
    installed.addCopyFileToSource(output, "build/" ++ name ++ ".wasm");
    b.getInstallStep().dependOn(&installed.step);

    const tests = b.addTest(.{ .root_module = b.createModule(.{ .root_source_file = b.path("src/content.zig"), .target = b.graph.host }) });
    b.step("test", "Test the content on this machine").dependOn(&b.addRunArtifact(tests).step);
}
