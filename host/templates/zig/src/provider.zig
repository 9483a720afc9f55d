//! {{name}}, a Wharf provider: what it offers, and how it is read. What the resources hold is in content.zig.
//! sdk/wharf.zig says what there is to call; the contract itself, with a comment on every item, is in wit/deps/provider.

const content = @import("content.zig");
const wharf = @import("wharf");

const seconds_uri = "{{scheme}}://seconds";
const every_second = 1000; // milliseconds

/// Calls come one at a time, all to this one instance, which lives until the next reload: what one call leaves here is there in the next.
var counted: u32 = 0;

export fn wharf_start() void {
    wharf.resource(.{
        .uri = "{{scheme}}://sentence",
        .title = "A sentence",
        .mime_type = "text/plain",
        .read = sentence,
        .subscribable = true, // it changes only when this program does: the host tells of that by itself
    });
    wharf.resource(.{
        .uri = seconds_uri,
        .title = "How long somebody has been subscribed",
        .mime_type = "text/plain",
        .read = seconds,
        .on_subscribe = beginSeconds,
        .on_unsubscribe = endSeconds,
    });
    wharf.template(.{
        .uri = "{{scheme}}://greeting/{name}",
        .title = "A greeting for anybody",
        .mime_type = "text/plain",
        .read = greeting,
        .subscribable = true,
    });
}

fn sentence(_: wharf.Request, reply: wharf.Reply) !void {
    reply.text(content.sentence);
}

/// What `wharf.allocator` gives is freed when the call has ended.
fn greeting(request: wharf.Request, reply: wharf.Reply) !void {
    reply.text(try content.greeting(wharf.allocator, request.variable("name").?));
}

fn seconds(_: wharf.Request, reply: wharf.Reply) !void {
    reply.text(try content.seconds(wharf.allocator, counted));
}

/// The first subscriber is there. No call may wait, so time comes from the host.
fn beginSeconds(_: wharf.Request) !void {
    try wharf.every("seconds", every_second, aSecondHasPassed);
}

/// First change what is read, then say so.
fn aSecondHasPassed() void {
    counted += 1;
    wharf.updated(seconds_uri);
}

/// Nobody is left.
fn endSeconds(_: wharf.Request) void {
    wharf.cancel("seconds");
}
