//! `images`: what there is to know of the pictures in a granted folder without looking at them: format, size in pixels and bytes, and what a
//! camera says of itself. Live: who is subscribed is told when a picture comes, goes or changes.

const std = @import("std");
const image = @import("image.zig");
const wharf = @import("wharf");

const index_uri = "images://index";
const file_template = "images://file/{+path}";
/// Where a JPEG's frame begins may be far behind the thumbnail and the colour profile.
const head_bytes = 256 * 1024;
/// More make a long page, and a long call.
const most_listed = 2000;

const Found = *const fn (path: [*:0]const u8, size: f64, context: *anyopaque) callconv(.c) void;
extern fn folder_walk(folder: [*:0]const u8, found: Found, context: *anyopaque) void;
extern fn folder_read(path: [*:0]const u8, bytes: [*]u8, size: *usize) bool;

const Entry = struct { path: [:0]const u8, size: f64 };

fn folder() [*:0]const u8 {
    return wharf.setting("folder") orelse "/images";
}

export fn wharf_start() void {
    wharf.resource(.{
        .uri = index_uri,
        .title = "All images",
        .description = "Every image below the folder: format, pixels, bytes, when and with what it was taken.",
        .mime_type = "text/markdown",
        .read = readIndex,
        .subscribable = true,
    });
    wharf.template(.{
        .uri = file_template,
        .title = "One image",
        .description = "What is known of one image, by its path in the folder.",
        .mime_type = "application/json",
        .read = readFile,
        .subscribable = true,
        .list = listFiles,
        .complete = completeFile,
    });
    wharf.watch("images", folder(), true, changed) catch std.debug.print("images are not watched: {s}\n", .{wharf.message()});
}

fn changed(path: [:0]const u8, change: wharf.Change) void {
    if (change != .modified) wharf.listChanged();
    wharf.updated(index_uri);
    const root = std.mem.trimEnd(u8, std.mem.span(folder()), "/");
    if (change == .rescan) {
        for (entries()) |entry| wharf.updated(uriOf(entry.path));
    } else if (path.len > root.len + 1 and std.mem.startsWith(u8, path, root)) {
        wharf.updated(uriOf(path[root.len + 1 ..]));
    }
}

fn uriOf(path: [:0]const u8) [*:0]const u8 {
    return wharf.expand(file_template, &[_]wharf.Variable{ .{ .name = "path", .value = path }, .{} });
}

// ---- What is there ----

fn isImage(path: []const u8) bool {
    for ([_][]const u8{ ".png", ".jpg", ".jpeg", ".gif", ".webp" }) |ending| {
        if (std.ascii.endsWithIgnoreCase(path, ending)) return true;
    }
    return false;
}

fn entries() []Entry {
    var list: std.ArrayList(Entry) = .empty;
    folder_walk(folder(), found, &list);
    std.mem.sort(Entry, list.items, {}, struct {
        fn before(_: void, a: Entry, b: Entry) bool {
            return std.mem.lessThan(u8, a.path, b.path);
        }
    }.before);
    return list.items;
}

fn found(path: [*:0]const u8, size: f64, context: *anyopaque) callconv(.c) void {
    const list: *std.ArrayList(Entry) = @ptrCast(@alignCast(context));
    // What the walk gives lives until the call has ended, as this list does.
    if (isImage(std.mem.span(path)) and list.items.len < most_listed) list.append(wharf.allocator, .{ .path = std.mem.span(path), .size = size }) catch unreachable;
}

fn look(path: []const u8, buffer: []u8) error{NotFound}!?image.Info {
    var size = buffer.len;
    const whole = wharf.print("{s}/{s}\x00", .{ std.mem.span(folder()), path });
    if (!folder_read(@ptrCast(whole.ptr), buffer.ptr, &size)) return error.NotFound;
    return image.parse(buffer[0..size]);
}

// ---- Reading ----

fn readIndex(_: wharf.Request, reply: wharf.Reply) !void {
    const buffer = try wharf.allocator.alloc(u8, head_bytes);
    var lines: std.ArrayList(u8) = .empty;
    var count: usize = 0;
    for (entries()) |entry| {
        const info = look(entry.path, buffer) catch continue orelse continue;
        count += 1;
        try lines.print(wharf.allocator, "| {s} | {s} | {d} x {d} | {d:.0} | {s} | {s} {s} |\n", .{ entry.path, info.format, info.width, info.height, entry.size, info.taken, info.make, info.model });
    }
    reply.print("# {d} images\n\n| path | format | pixels | bytes | taken | camera |\n|---|---|---|---|---|---|\n{s}", .{ count, lines.items });
}

fn readFile(request: wharf.Request, reply: wharf.Reply) !void {
    const path = request.variable("path").?;
    if (!isImage(path)) return error.NotFound;
    const info = try look(path, try wharf.allocator.alloc(u8, head_bytes)) orelse return wharf.failed("{s} is no image that can be read: PNG, JPEG, GIF or WebP", .{path});
    const shown = if (info.turned) [_]u32{ info.height, info.width } else [_]u32{ info.width, info.height };
    reply.print("{f}", .{std.json.fmt(.{
        .path = @as([]const u8, path),
        .format = info.format,
        .width = shown[0],
        .height = shown[1],
        .taken = if (info.taken.len > 0) info.taken else null,
        .make = if (info.make.len > 0) info.make else null,
        .model = if (info.model.len > 0) info.model else null,
    }, .{ .emit_null_optional_fields = false })});
}

fn listFiles(list: wharf.List) void {
    for (entries()) |entry| list.add(&.{.{ .name = "path", .value = entry.path }}, .{ .uri = "", .name = entry.path, .size = entry.size });
}

fn completeFile(what: wharf.Completing) void {
    for (entries()) |entry| what.suggest(entry.path);
}
