//! What the first bytes of an image file say. No WebAssembly here: `zig build test` tests it on your own machine.
//!
//! PNG (W3C PNG, 3rd edition, section 11.2.1), JPEG (ITU-T T.81, annex B) with Exif (CIPA DC-008), GIF (GIF89a, section 18) and WebP
//! (RFC 9649). Whatever the bytes are, nothing is read past their end. Where a picture was taken is left out on purpose.

const std = @import("std");

pub const Info = struct {
    format: []const u8,
    width: u32,
    height: u32,
    /// Of a camera: parts of the bytes that were read.
    make: []const u8 = "",
    model: []const u8 = "",
    /// `2026:11:30 21:10:00`, in the camera's own time.
    taken: []const u8 = "",
    /// To be turned by a quarter, so that width and height change places when it is shown.
    turned: bool = false,
};

pub fn parse(bytes: []const u8) ?Info {
    return png(bytes) orelse gif(bytes) orelse webp(bytes) orelse jpeg(bytes);
}

/// Bytes at a place, or null past the end.
fn at(bytes: []const u8, place: usize, length: usize) ?[]const u8 {
    const end = std.math.add(usize, place, length) catch return null;
    return if (end <= bytes.len) bytes[place..end] else null;
}

fn number(bytes: []const u8, place: usize, length: usize, big: bool) ?u32 {
    var value: u32 = 0;
    const digits = at(bytes, place, length) orelse return null;
    for (0..length) |index| value = value << 8 | digits[if (big) index else length - 1 - index];
    return value;
}

fn png(bytes: []const u8) ?Info {
    if (!std.mem.startsWith(u8, bytes, "\x89PNG\r\n\x1a\n")) return null;
    return .{ .format = "PNG", .width = number(bytes, 16, 4, true) orelse return null, .height = number(bytes, 20, 4, true) orelse return null };
}

fn gif(bytes: []const u8) ?Info {
    if (!std.mem.startsWith(u8, bytes, "GIF87a") and !std.mem.startsWith(u8, bytes, "GIF89a")) return null;
    return .{ .format = "GIF", .width = number(bytes, 6, 2, false) orelse return null, .height = number(bytes, 8, 2, false) orelse return null };
}

fn webp(bytes: []const u8) ?Info {
    if (!std.mem.startsWith(u8, bytes, "RIFF") or !std.mem.eql(u8, at(bytes, 8, 4) orelse return null, "WEBP")) return null;
    const kind = at(bytes, 12, 4) orelse return null;
    if (std.mem.eql(u8, kind, "VP8X"))
        return .{ .format = "WebP", .width = 1 + (number(bytes, 24, 3, false) orelse return null), .height = 1 + (number(bytes, 27, 3, false) orelse return null) };
    if (std.mem.eql(u8, kind, "VP8L")) {
        const packed_size = number(bytes, 21, 4, false) orelse return null;
        return .{ .format = "WebP", .width = 1 + (packed_size & 0x3fff), .height = 1 + (packed_size >> 14 & 0x3fff) };
    }
    if (!std.mem.eql(u8, kind, "VP8 ")) return null;
    return .{ .format = "WebP", .width = (number(bytes, 26, 2, false) orelse return null) & 0x3fff, .height = (number(bytes, 28, 2, false) orelse return null) & 0x3fff };
}

fn jpeg(bytes: []const u8) ?Info {
    if (!std.mem.startsWith(u8, bytes, "\xff\xd8")) return null;
    var info: Info = .{ .format = "JPEG", .width = 0, .height = 0 };
    var place: usize = 2;
    while (number(bytes, place, 2, true)) |marker| {
        if (marker < 0xff00) return null;
        const length = number(bytes, place + 2, 2, true) orelse return null;
        switch (marker) {
            0xffff => place += 1, // filling
            0xffe1 => {
                exif(at(bytes, place + 4, length -| 2) orelse "", &info);
                place += 2 + length;
            },
            // A frame begins: all but the tables of Huffman codes, extensions and arithmetic coding.
            0xffc0...0xffc3, 0xffc5...0xffc7, 0xffc9...0xffcb, 0xffcd...0xffcf => {
                info.height = number(bytes, place + 5, 2, true) orelse return null;
                info.width = number(bytes, place + 7, 2, true) orelse return null;
                return info;
            },
            else => place += 2 + length,
        }
    }
    return null;
}

const Tag = struct { const make = 0x010f; const model = 0x0110; const orientation = 0x0112; const exif = 0x8769; const taken = 0x9003; };

fn exif(segment: []const u8, info: *Info) void {
    if (!std.mem.startsWith(u8, segment, "Exif\x00\x00")) return;
    const tiff = segment[6..];
    const big = std.mem.startsWith(u8, tiff, "MM");
    if (directory(tiff, number(tiff, 4, 4, big) orelse return, big, info)) |more| _ = directory(tiff, more, big, info);
}

/// One directory of tags; gives the place of the one with Exif's own tags.
fn directory(tiff: []const u8, place: usize, big: bool, info: *Info) ?u32 {
    var more: ?u32 = null;
    const count = number(tiff, place, 2, big) orelse return null;
    for (0..count) |index| {
        const entry = place + 2 + 12 * index;
        const tag = number(tiff, entry, 2, big) orelse return more;
        switch (tag) {
            Tag.make => info.make = text(tiff, entry, big),
            Tag.model => info.model = text(tiff, entry, big),
            Tag.taken => info.taken = text(tiff, entry, big),
            Tag.orientation => info.turned = (number(tiff, entry + 8, 2, big) orelse 0) >= 5,
            Tag.exif => more = number(tiff, entry + 8, 4, big),
            else => {},
        }
    }
    return more;
}

/// ASCII, up to the first byte that is none: it goes to people and models.
fn text(tiff: []const u8, entry: usize, big: bool) []const u8 {
    const length = number(tiff, entry + 4, 4, big) orelse return "";
    const place = if (length <= 4) entry + 8 else number(tiff, entry + 8, 4, big) orelse return "";
    const value = at(tiff, place, length) orelse return "";
    for (value, 0..) |byte, index| if (byte < ' ' or byte > '~' or byte == '|') return value[0..index];
    return value;
}

test "sizes of all formats" {
    const png_file = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x02\x80\x00\x00\x01\xe0";
    const gif_file = "GIF89a\x10\x00\x20\x01";
    const lossy = "RIFF....WEBPVP8 ....\x00\x00\x00\x9d\x01\x2a\x40\x01\xf0\x00";
    const lossless = "RIFF....WEBPVP8L....\x2f\x3f\xc1\x3b\x00";
    const extended = "RIFF....WEBPVP8X....\x00\x00\x00\x00\x3f\x01\x00\xef\x00\x00";
    const jpeg_file = "\xff\xd8\xff\xe0\x00\x04..\xff\xff\xc2\x00\x0b\x08\x00\xf0\x01\x40";
    for ([_][]const u8{ png_file, gif_file, lossy, lossless, extended, jpeg_file }, [_][2]u32{ .{ 640, 480 }, .{ 16, 288 }, .{ 320, 240 }, .{ 320, 240 }, .{ 320, 240 }, .{ 320, 240 } }) |file, size| {
        const info = parse(file).?;
        try std.testing.expectEqual(size, .{ info.width, info.height });
        // Cut anywhere it is no image, and nothing is read past the end.
        for (0..file.len) |length| try std.testing.expectEqual(null, parse(file[0..length]));
    }
    try std.testing.expectEqual(null, parse("no image at all"));
}

test "what a camera says of itself" {
    const tiff = "II*\x00\x08\x00\x00\x00" ++ "\x03\x00" ++ "\x10\x01\x02\x00\x04\x00\x00\x00X1\x00\x00" ++ "\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00" ++
        "\x69\x87\x04\x00\x01\x00\x00\x00\x32\x00\x00\x00" ++ "\x00\x00\x00\x00" ++ "\x01\x00" ++ "\x03\x90\x02\x00\x14\x00\x00\x00\x44\x00\x00\x00" ++ "\x00\x00\x00\x00" ++ "2026:11:30 21:10:00\x00";
    const segment = "Exif\x00\x00" ++ tiff;
    const file = "\xff\xd8\xff\xe1\x00" ++ [_]u8{segment.len + 2} ++ segment ++ "\xff\xc0\x00\x0b\x08\x00\xf0\x01\x40";
    const info = parse(file).?;
    try std.testing.expectEqualStrings("X1", info.model);
    try std.testing.expectEqualStrings("2026:11:30 21:10:00", info.taken);
    try std.testing.expect(info.turned);
}

test "any bytes are survived" {
    var bytes: [512]u8 = undefined;
    var random = std.Random.DefaultPrng.init(8);
    for ([_][]const u8{ "\xff\xd8\xff\xe1\x01\xf0Exif\x00\x00II*\x00\x08\x00\x00\x00", "RIFF....WEBPVP8X", "\xff\xd8" }) |head| {
        for (0..20_000) |_| {
            random.random().bytes(&bytes);
            @memcpy(bytes[0..head.len], head);
            _ = parse(&bytes);
        }
    }
}
