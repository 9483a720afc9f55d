//! Write a Wharf provider in Zig, on top of the C SDK (`c/wharf.h`).
//!
//! Export `wharf_start`, and say in it what there is:
//!
//!     export fn wharf_start() void {
//!         wharf.resource(.{ .uri = "hello://sentence", .title = "A sentence", .read = sentence });
//!     }
//!
//!     fn sentence(_: wharf.Request, reply: wharf.Reply) !void {
//!         reply.text("The tide is coming in.");
//!     }
//!
//! `wharf.allocator` gives memory that is freed when the call has ended: nothing need be freed. What must stay is `std.heap.c_allocator`'s.
//! What a function here is given it copies, but for the fields of a `Resource`, which must stay. No call may wait; there are no threads.
//! A panic ends the instance, and the host makes a fresh one.

const std = @import("std");
const parts = @import("wharf_parts.zig");

pub const Variable = parts.Variable;
pub const Icon = parts.Icon;
pub const Annotations = parts.Annotations;
pub const Change = parts.Change;
/// Memory until the call has ended, and formatted text there.
pub const allocator = parts.allocator;
pub const print = parts.print;

const Text = [*:0]const u8;

// ---- Answers and errors ----

/// Why there is no answer. Any other error is answered as `Failed`, with its name.
pub const Error = error{ NotFound, Invalid, Denied, Unavailable, Failed };

/// To be returned: `return wharf.invalid("{s} is no date", .{date})`. The user and the model see the text: say what to do, and no secrets.
pub fn invalid(comptime format: []const u8, arguments: anytype) Error {
    return say(wharf_invalid, error.Invalid, format, arguments);
}
pub fn denied(comptime format: []const u8, arguments: anytype) Error {
    return say(wharf_denied, error.Denied, format, arguments);
}
pub fn unavailable(comptime format: []const u8, arguments: anytype) Error {
    return say(wharf_unavailable, error.Unavailable, format, arguments);
}
pub fn failed(comptime format: []const u8, arguments: anytype) Error {
    return say(wharf_failed, error.Failed, format, arguments);
}

/// The text of the error that a function here has just returned.
pub fn message() [:0]const u8 {
    return std.mem.span(wharf_message());
}

fn say(comptime c_function: anytype, comptime code: Error, comptime format: []const u8, arguments: anytype) Error {
    _ = c_function("%s", print(format ++ "\x00", arguments).ptr);
    return code;
}

const Status = enum(c_int) { ok, not_found, invalid, denied, unavailable, failed };

/// The text of an error is where `say` or the C SDK put it.
fn give(outcome: anyerror!void) Status {
    outcome catch |err| return switch (err) {
        error.NotFound => wharf_not_found(),
        error.Invalid => .invalid,
        error.Denied => .denied,
        error.Unavailable => .unavailable,
        error.Failed => .failed,
        else => wharf_failed("%s", @as(Text, @errorName(err))),
    };
    return .ok;
}

fn take(status: Status) Error!void {
    return switch (status) {
        .ok => {},
        .not_found => error.NotFound,
        .invalid => error.Invalid,
        .denied => error.Denied,
        .unavailable => error.Unavailable,
        .failed => error.Failed,
    };
}

// ---- Reading ----

const CRequest = extern struct { uri: Text, uri_template: ?Text, variables: [*]const Variable, if_none_match: ?Text, context: *const Resource };

pub const Request = struct {
    c: *const CRequest,

    /// What the client sent, unchanged.
    pub fn uri(self: Request) [:0]const u8 {
        return std.mem.span(self.c.uri);
    }
    /// The value of a variable, percent-decoded; null if the URI leaves it out. The first, if there are several.
    pub fn variable(self: Request, name: []const u8) ?[:0]const u8 {
        return find(self.c.variables, name);
    }
    pub fn context(self: Request) ?*anyopaque {
        return self.c.context.context;
    }
};

fn find(variables: [*]const Variable, name: []const u8) ?[:0]const u8 {
    var index: usize = 0;
    while (variables[index].name) |known| : (index += 1) {
        if (std.mem.eql(u8, std.mem.span(known), name)) return std.mem.span(variables[index].value.?);
    }
    return null;
}

/// One content.
pub const Contents = struct {
    /// Null: the URI asked for; else that of a part of it.
    uri: ?Text = null,
    /// Null: what the resource or template says.
    mime_type: ?Text = null,
    /// A JSON object, for MCP's `_meta`.
    meta_json: ?Text = null,
    body: union(enum) { text: []const u8, blob: []const u8 },
};

const CContents = extern struct { uri: ?Text, mime_type: ?Text, text: ?Text = null, bytes: [*]const u8, size: usize, utf8: bool, meta_json: ?Text };

/// What is being answered. Each of the first four adds one content; at most 16 MiB in all.
pub const Reply = struct {
    c: *anyopaque,

    pub fn text(self: Reply, content: []const u8) void {
        self.add(.{ .body = .{ .text = content } });
    }
    pub fn print(self: Reply, comptime format: []const u8, arguments: anytype) void {
        self.text(parts.print(format, arguments));
    }
    pub fn blob(self: Reply, bytes: []const u8) void {
        self.add(.{ .body = .{ .blob = bytes } });
    }
    pub fn add(self: Reply, contents: Contents) void {
        const bytes = switch (contents.body) {
            inline else => |bytes| bytes,
        };
        _ = wharf_add(self.c, &.{
            .uri = contents.uri,
            .mime_type = contents.mime_type,
            .bytes = bytes.ptr,
            .size = bytes.len,
            .utf8 = contents.body == .text,
            .meta_json = contents.meta_json,
        });
    }
    /// Names the version of what is read (another whenever the contents differ). If the host still has just that, this is true, and nothing
    /// need be added: `if (reply.unchanged(revision)) return;`.
    pub fn unchanged(self: Reply, version: Text) bool {
        return wharf_unchanged(self.c, version);
    }
    /// How long the host may answer from this without asking again.
    pub fn reuseMs(self: Reply, ms: u32) void {
        wharf_reuse_ms(self.c, ms);
    }
    pub fn reuseUntilAnnounced(self: Reply) void {
        wharf_reuse_until_announced(self.c);
    }
};

// ---- What there is ----

/// A resource, or a template: then `uri` is an RFC 6570 URI template.
pub const Resource = struct {
    uri: Text,
    /// Null: the last segment of the URI.
    name: ?Text = null,
    title: ?Text = null,
    description: ?Text = null,
    mime_type: ?Text = null,
    /// Bytes; 0: not said.
    size: f64 = 0,
    icons: []const Icon = &.{},
    annotations: ?*const Annotations = null,
    meta_json: ?Text = null,

    read: *const fn (Request, Reply) anyerror!void = nothing,

    /// Whether it tells of changes: when you announce it, and at a reload.
    subscribable: bool = false,
    /// For the first subscriber, and when none is left.
    on_subscribe: ?*const fn (Request) anyerror!void = null,
    on_unsubscribe: ?*const fn (Request) void = null,

    /// For templates: those of the family that can be enumerated (asked for each list, and when one of them is read), and values while
    /// someone types.
    list: ?*const fn (List) void = null,
    complete: ?*const fn (Completing) void = null,

    /// Whatever you like: `Request.context`.
    context: ?*anyopaque = null,
};

fn nothing(_: Request, _: Reply) anyerror!void {
    return error.NotFound;
}

const CResource = extern struct {
    uri: ?Text = null,
    name: ?Text = null,
    title: ?Text = null,
    description: ?Text = null,
    mime_type: ?Text = null,
    size: f64 = 0,
    icons: ?[*]const Icon = null,
    icon_count: usize = 0,
    annotations: ?*const Annotations = null,
    meta_json: ?Text = null,
    read: ?*const fn (*const CRequest, *anyopaque) callconv(.c) Status = null,
    subscribable: bool = false,
    on_subscribe: ?*const fn (*const CRequest) callconv(.c) Status = null,
    on_unsubscribe: ?*const fn (*const CRequest) callconv(.c) void = null,
    list: ?*const fn (*anyopaque, *const Resource) callconv(.c) void = null,
    complete: ?*const fn (*const CCompleting, *anyopaque) callconv(.c) void = null,
    context: ?*const Resource = null,

    fn from(what: Resource) CResource {
        return .{
            .uri = what.uri,
            .name = what.name,
            .title = what.title,
            .description = what.description,
            .mime_type = what.mime_type,
            .size = what.size,
            .icons = what.icons.ptr,
            .icon_count = what.icons.len,
            .annotations = what.annotations,
            .meta_json = what.meta_json,
        };
    }
};

/// In the order in which it is to be listed or tried.
pub fn resource(what: Resource) void {
    offer(what, wharf_add_resource);
}
pub fn template(what: Resource) void {
    offer(what, wharf_add_template);
}

fn offer(what: Resource, add: *const fn (*const CResource) callconv(.c) void) void {
    const kept = std.heap.c_allocator.create(Resource) catch @panic("out of memory");
    kept.* = what;
    var table: CResource = .from(what);
    table.read = onRead;
    table.subscribable = what.subscribable;
    if (what.on_subscribe != null) table.on_subscribe = onSubscribe;
    if (what.on_unsubscribe != null) table.on_unsubscribe = onUnsubscribe;
    if (what.list != null) table.list = onList;
    if (what.complete != null) table.complete = onComplete;
    table.context = kept;
    add(&table);
}

fn onRead(request: *const CRequest, reply: *anyopaque) callconv(.c) Status {
    return give(request.context.read(.{ .c = request }, .{ .c = reply }));
}
fn onSubscribe(request: *const CRequest) callconv(.c) Status {
    return give(request.context.on_subscribe.?(.{ .c = request }));
}
fn onUnsubscribe(request: *const CRequest) callconv(.c) void {
    request.context.on_unsubscribe.?(.{ .c = request });
}
fn onList(list: *anyopaque, what: *const Resource) callconv(.c) void {
    what.list.?(.{ .c = list });
}
fn onComplete(what: *const CCompleting, suggestions: *anyopaque) callconv(.c) void {
    what.context.complete.?(.{ .c = what, .suggestions = suggestions });
}

/// Where a family's members are put.
pub const List = struct {
    c: *anyopaque,

    /// The values of the template's variables, and what else there is to say (null: as the template).
    pub fn add(self: List, variables: []const Variable, details: Resource) void {
        const ended = allocator.alloc(Variable, variables.len + 1) catch @panic("out of memory");
        @memcpy(ended[0..variables.len], variables);
        ended[variables.len] = .{};
        wharf_list_add(self.c, ended.ptr, &.from(details));
    }
};

const CCompleting = extern struct { variable: Text, value: Text, known: [*]const Variable, context: *const Resource };

/// Someone types the value of a variable.
pub const Completing = struct {
    c: *const CCompleting,
    suggestions: *anyopaque,

    /// The variable being filled in.
    pub fn variable(self: Completing) [:0]const u8 {
        return std.mem.span(self.c.variable);
    }
    /// The value of a variable that is filled in already.
    pub fn known(self: Completing, name: []const u8) ?[:0]const u8 {
        return find(self.c.known, name);
    }
    /// Suggests a value, if it begins with what is typed; and one whatever is typed.
    pub fn suggest(self: Completing, value: Text) void {
        wharf_suggest(self.suggestions, value);
    }
    pub fn suggestAnyway(self: Completing, value: Text) void {
        wharf_suggest_anyway(self.suggestions, value);
    }
};

/// The URI of one member of a family; the variables end with an empty one.
pub fn expand(uri_template: Text, variables: [*]const Variable) [:0]const u8 {
    return std.mem.span(wharf_expand(uri_template, variables));
}

/// How many entries one page of the list has: 1000.
pub fn pageSize(entries: usize) void {
    wharf_page_size(entries);
}

// ---- Changes, time, settings ----

/// The content of this URI has changed, or may have: call it after what `read` answers has changed.
pub fn updated(uri: Text) void {
    wharf_updated(uri);
}
/// What is listed has changed.
pub fn listChanged() void {
    wharf_list_changed();
}

/// Calls `fire` each time so many milliseconds have passed, or once after that; at least 100. One of the same name is replaced.
pub fn every(name: Text, ms: u32, fire: *const fn () void) Error!void {
    return take(wharf_every(name, ms, onTimer, @ptrCast(@constCast(fire))));
}
pub fn after(name: Text, ms: u32, fire: *const fn () void) Error!void {
    return take(wharf_after(name, ms, onTimer, @ptrCast(@constCast(fire))));
}
pub fn cancel(name: Text) void {
    wharf_cancel(name);
}

fn onTimer(_: Text, context: ?*anyopaque) callconv(.c) void {
    const fire: *const fn () void = @ptrCast(@alignCast(context));
    fire();
}

/// The setting of this name in wharf.toml. Lives for good.
pub fn setting(name: Text) ?[:0]const u8 {
    return std.mem.span(wharf_setting(name) orelse return null);
}

// ---- Files: if the world imports `file-watch` and exports `file-handler` ----

/// Calls `changed` with the path of each change in a granted file or folder; `rescan`: look at everything below it.
pub fn watch(name: Text, path: Text, recursive: bool, changed: *const fn (path: [:0]const u8, change: Change) void) Error!void {
    return take(wharf_watch(name, path, recursive, onChange, @ptrCast(@constCast(changed))));
}
pub fn unwatch(name: Text) void {
    wharf_unwatch(name);
}

fn onChange(_: Text, path: Text, change: Change, context: ?*anyopaque) callconv(.c) void {
    const changed: *const fn ([:0]const u8, Change) void = @ptrCast(@alignCast(context));
    changed(std.mem.span(path), change);
}

// ---- The C SDK ----

extern fn wharf_message() Text;
extern fn wharf_not_found() Status;
extern fn wharf_invalid(format: Text, ...) Status;
extern fn wharf_denied(format: Text, ...) Status;
extern fn wharf_unavailable(format: Text, ...) Status;
extern fn wharf_failed(format: Text, ...) Status;
extern fn wharf_add(reply: *anyopaque, contents: *const CContents) Status;
extern fn wharf_unchanged(reply: *anyopaque, version: Text) bool;
extern fn wharf_reuse_ms(reply: *anyopaque, ms: u32) void;
extern fn wharf_reuse_until_announced(reply: *anyopaque) void;
extern fn wharf_add_resource(what: *const CResource) callconv(.c) void;
extern fn wharf_add_template(what: *const CResource) callconv(.c) void;
extern fn wharf_list_add(list: *anyopaque, variables: [*]const Variable, details: *const CResource) void;
extern fn wharf_suggest(suggestions: *anyopaque, value: Text) void;
extern fn wharf_suggest_anyway(suggestions: *anyopaque, value: Text) void;
extern fn wharf_expand(uri_template: Text, variables: [*]const Variable) Text;
extern fn wharf_page_size(entries: usize) void;
extern fn wharf_updated(uri: Text) void;
extern fn wharf_list_changed() void;
extern fn wharf_every(name: Text, ms: u32, fire: *const fn (Text, ?*anyopaque) callconv(.c) void, context: ?*anyopaque) Status;
extern fn wharf_after(name: Text, ms: u32, fire: *const fn (Text, ?*anyopaque) callconv(.c) void, context: ?*anyopaque) Status;
extern fn wharf_cancel(name: Text) void;
extern fn wharf_setting(name: Text) ?Text;
extern fn wharf_watch(name: Text, path: Text, recursive: bool, changed: *const fn (Text, Text, Change, ?*anyopaque) callconv(.c) void, context: ?*anyopaque) Status;
extern fn wharf_unwatch(name: Text) void;
