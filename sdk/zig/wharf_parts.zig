//! Of `wharf.zig`: plain data as the C SDK lays it out, and memory.

const std = @import("std");

const Text = [*:0]const u8;

/// Name and value of a template's variable.
pub const Variable = extern struct { name: ?Text = null, value: ?Text = null };

pub const Icon = extern struct {
    /// An `https:` URL or a `data:` URI.
    src: Text,
    mime_type: ?Text = null,
    /// Ended by null.
    sizes: ?[*:null]const ?Text = null,
    theme: enum(c_int) { any, light, dark } = .any,
};

pub const Annotations = extern struct {
    audience: packed struct(c_uint) { user: bool = false, assistant: bool = false, _: u30 = 0 } = .{},
    has_priority: bool = false,
    /// From 0.0, entirely optional, to 1.0, effectively required.
    priority: f64 = 0,
    /// Milliseconds since 1970; 0: not said.
    last_modified: f64 = 0,
};

pub const Change = enum(c_int) { created, modified, removed, rescan };

/// Memory until the call has ended.
pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &.{ .alloc = alloc, .resize = resize, .remap = remap, .free = free } };

/// Formatted text until the call has ended.
pub fn print(comptime format: []const u8, arguments: anytype) []u8 {
    return std.fmt.allocPrint(allocator, format, arguments) catch @panic("out of memory");
}

fn alloc(_: *anyopaque, size: usize, alignment: std.mem.Alignment, _: usize) ?[*]u8 {
    const address = @intFromPtr(wharf_alloc(size + alignment.toByteUnits()));
    return @ptrFromInt(alignment.forward(address));
}
fn resize(_: *anyopaque, memory: []u8, _: std.mem.Alignment, size: usize, _: usize) bool {
    return size <= memory.len;
}
fn remap(_: *anyopaque, memory: []u8, _: std.mem.Alignment, size: usize, _: usize) ?[*]u8 {
    return if (size <= memory.len) memory.ptr else null;
}
fn free(_: *anyopaque, _: []u8, _: std.mem.Alignment, _: usize) void {}

extern fn wharf_alloc(size: usize) *anyopaque;
