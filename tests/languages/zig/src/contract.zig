//! The contract fixture in Zig: the same resources as in every other language of tests/languages.

const std = @import("std");
const wharf = @import("wharf");

const count_uri = "contract://count";
const setting_uri = "contract://setting";
const text_plain = "text/plain";
const count_ms = 100;
const mib = 1 << 20;

const meta = "{\"contract/x\": 1}";
const sizes = [_:null]?[*:0]const u8{"48x48"};
const icons = [_]wharf.Icon{.{ .src = "data:image/png;base64,AAAA", .mime_type = "image/png", .sizes = &sizes, .theme = .dark }};
const annotations: wharf.Annotations = .{ .audience = .{ .user = true, .assistant = true }, .has_priority = true, .priority = 0.5, .last_modified = 1700000000000 };

var counted: u32 = 0;

extern fn abort() noreturn;
extern fn arc4random() u32;
extern fn malloc(size: usize) ?[*]volatile u8;

export fn wharf_start() void {
    wharf.pageSize(1);
    wharf.resource(.{
        .uri = "contract://full",
        .title = "Everything",
        .description = "Every field that a list can carry.",
        .mime_type = text_plain,
        .size = 5,
        .icons = &icons,
        .annotations = &annotations,
        .meta_json = meta,
        .read = full,
        .subscribable = true,
    });
    wharf.resource(.{ .uri = "contract://utf8", .mime_type = text_plain, .read = utf8, .subscribable = true });
    wharf.resource(.{ .uri = "contract://blob", .mime_type = "application/octet-stream", .read = blob, .subscribable = true });
    wharf.resource(.{ .uri = "contract://two", .mime_type = text_plain, .read = two, .subscribable = true });
    wharf.resource(.{ .uri = count_uri, .mime_type = text_plain, .read = count, .on_subscribe = beginCount, .on_unsubscribe = endCount });
    wharf.resource(.{ .uri = setting_uri, .mime_type = text_plain, .read = setting, .subscribable = true });
    wharf.template(.{
        .uri = "contract://echo/{word}{?from,to}",
        .title = "Echo",
        .description = "What the URI says.",
        .mime_type = text_plain,
        .icons = &icons,
        .annotations = &annotations,
        .meta_json = meta,
        .read = echo,
        .subscribable = true,
        .complete = completeEcho,
    });
    wharf.template(.{ .uri = "contract://path/{+path}", .read = path, .subscribable = true });
    wharf.template(.{ .uri = "contract://error/{kind}", .read = readError, .on_subscribe = theError });
    wharf.template(.{ .uri = "contract://do/{what}", .read = act, .subscribable = true });
}

fn full(_: wharf.Request, reply: wharf.Reply) !void {
    reply.reuseMs(1000);
    if (reply.unchanged("1")) return;
    reply.text("hello");
}

fn utf8(_: wharf.Request, reply: wharf.Reply) !void {
    reply.text("grüße, 世界");
}

fn blob(_: wharf.Request, reply: wharf.Reply) !void {
    var bytes: [256]u8 = undefined;
    for (&bytes, 0..) |*byte, value| byte.* = @intCast(value);
    reply.blob(&bytes);
}

fn two(_: wharf.Request, reply: wharf.Reply) !void {
    reply.text("one");
    reply.add(.{ .uri = "contract://two/part", .mime_type = "text/markdown", .meta_json = "{\"contract/part\": 2}", .body = .{ .text = "two" } });
}

fn count(_: wharf.Request, reply: wharf.Reply) !void {
    reply.print("{d}", .{counted});
}

fn countOne() void {
    counted += 1;
    wharf.updated(count_uri);
}

fn beginCount(_: wharf.Request) !void {
    try wharf.every("count", count_ms, countOne);
}

fn endCount(_: wharf.Request) void {
    wharf.cancel("count");
}

fn setting(_: wharf.Request, reply: wharf.Reply) !void {
    reply.text(wharf.setting("greeting") orelse "none");
}

fn echo(request: wharf.Request, reply: wharf.Reply) !void {
    reply.print("word={s} from={s} to={s}", .{ request.variable("word") orelse "-", request.variable("from") orelse "-", request.variable("to") orelse "-" });
}

fn completeEcho(what: wharf.Completing) void {
    if (std.mem.eql(u8, what.variable(), "word")) {
        for ([_][*:0]const u8{ "alpha", "beta", "gamma" }) |word| what.suggest(word);
    } else if (std.mem.eql(u8, what.variable(), "from")) {
        if (what.known("word")) |word| what.suggestAnyway(word);
    }
}

fn path(request: wharf.Request, reply: wharf.Reply) !void {
    reply.text(request.variable("path").?);
}

fn readError(request: wharf.Request, _: wharf.Reply) !void {
    return theError(request);
}

fn theError(request: wharf.Request) !void {
    const kind = request.variable("kind").?;
    const Kind = enum { invalid, denied, unavailable, failed };
    const format = "as asked: {s}";
    return switch (std.meta.stringToEnum(Kind, kind) orelse return error.NotFound) {
        .invalid => wharf.invalid(format, .{kind}),
        .denied => wharf.denied(format, .{kind}),
        .unavailable => wharf.unavailable(format, .{kind}),
        .failed => wharf.failed(format, .{kind}),
    };
}

fn act(request: wharf.Request, reply: wharf.Reply) !void {
    const What = enum { trap, loop, allocate, stderr, random, now, announce };
    switch (std.meta.stringToEnum(What, request.variable("what").?) orelse return error.NotFound) {
        .trap => {
            std.debug.print("about to die\n", .{});
            @panic("as asked");
        },
        .loop => {
            var turns: u32 = 0;
            const seen: *volatile u32 = &turns;
            while (true) seen.* +%= 1;
        },
        .allocate => while (true) {
            const memory = malloc(mib) orelse abort();
            var place: usize = 0;
            while (place < mib) : (place += 1024) memory[place] = 1;
        },
        .stderr => {
            std.debug.print("a line from the guest\n", .{});
            reply.text("done");
        },
        .random => reply.print("{x:0>8}{x:0>8}", .{ arc4random(), arc4random() }),
        .now => {
            var now: std.c.timespec = undefined;
            if (std.c.clock_gettime(.REALTIME, &now) != 0) return error.Failed;
            reply.print("{d}", .{@as(i64, now.sec) * 1000 + @divTrunc(now.nsec, std.time.ns_per_ms)});
        },
        .announce => {
            wharf.updated(setting_uri);
            reply.text("done");
        },
    }
}
