//! What this provider has to say. There is no WebAssembly here: `zig build test` tests it on your own machine.

const std = @import("std");

/// What `{{scheme}}://sentence` holds. Change it and save while `wharf dev` runs: whoever is subscribed reads the new one.
pub const sentence = "The tide is coming in.";

/// What `{{scheme}}://greeting/{name}` holds.
pub fn greeting(allocator: std.mem.Allocator, name: []const u8) ![]u8 {
    return std.fmt.allocPrint(allocator, "Hello, {s}!", .{name});
}

/// What `{{scheme}}://seconds` holds.
pub fn seconds(allocator: std.mem.Allocator, count: u32) ![]u8 {
    return std.fmt.allocPrint(allocator, "{d} second{s}", .{ count, if (count == 1) "" else "s" });
}

test "a greeting has the name in it" {
    const text = try greeting(std.testing.allocator, "Ada");
    defer std.testing.allocator.free(text);
    try std.testing.expectEqualStrings("Hello, Ada!", text);
}

test "seconds are counted" {
    for ([_][]const u8{ "0 seconds", "1 second", "2 seconds" }, 0..) |expected, count| {
        const text = try seconds(std.testing.allocator, @intCast(count));
        defer std.testing.allocator.free(text);
        try std.testing.expectEqualStrings(expected, text);
    }
}
