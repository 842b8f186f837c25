// The windows of GNOME Shell for Wisp: where they lie, and what is done to them. GNOME tells programs neither.
//
// Who may call: every program that may talk to the name wisp.Shell on the session bus. These are the person's own
// programs outside of a sandbox, which read titles and texts of all windows from the accessibility bus anyway; new to
// them are places and the pointer. A sandboxed program reaches only the names that it was given. So that this holds,
// the extension has a connection of its own: on the Shell's, it would answer to whoever may talk to any of the Shell's
// names. It is not there while the screen is locked. It grabs no key that types: nobody can listen to what is written.

import Clutter from 'gi://Clutter';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Meta from 'gi://Meta';
import Shell from 'gi://Shell';

import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';

const NAME = 'wisp.Shell';
const PATH = '/wisp/Shell';
const SHELL_ITSELF = 0;
const NOTHING = -1;
const TOLD_AFTER_MS = 20;
const INTERFACE = `<node><interface name="${NAME}">
    <method name="List"><arg type="s" direction="out" name="json"/></method>
    <method name="Pointer"><arg type="i" direction="out"/><arg type="i" direction="out"/></method>
    <!-- What takes a press there: a window, 0 for the Shell itself, -1 for the desktop. -->
    <method name="At"><arg type="i" direction="in" name="x"/><arg type="i" direction="in" name="y"/>
        <arg type="x" direction="out" name="window"/></method>
    <method name="Activate"><arg type="t" direction="in" name="window"/></method>
    <method name="Close"><arg type="t" direction="in" name="window"/></method>
    <method name="Minimise"><arg type="t" direction="in" name="window"/></method>
    <method name="MoveResize"><arg type="t" direction="in" name="window"/>
        <arg type="i" direction="in" name="x"/><arg type="i" direction="in" name="y"/>
        <arg type="i" direction="in" name="width"/><arg type="i" direction="in" name="height"/></method>
    <!-- Tell the caller of these keys (by what they are for), or if there are none, of changes: as long as it is on
         the bus, or until it calls Follow again. Returns those that somebody else has. -->
    <method name="Follow"><arg type="a{ss}" direction="in" name="keys"/><arg type="as" direction="out"/></method>
    <signal name="Changed"/>
    <signal name="Pressed"><arg type="s" name="what_for"/></signal>
</interface></node>`;

const MENUS = [Meta.WindowType.MENU, Meta.WindowType.DROPDOWN_MENU, Meta.WindowType.POPUP_MENU,
    Meta.WindowType.COMBO];
const TIPS = [Meta.WindowType.TOOLTIP, Meta.WindowType.NOTIFICATION, Meta.WindowType.DND];
const DIALOGS = [Meta.WindowType.DIALOG, Meta.WindowType.MODAL_DIALOG];
const UNLISTED = [Meta.WindowType.DESKTOP, Meta.WindowType.DOCK, Meta.WindowType.SPLASHSCREEN];
const TYPES_NOTHING = /<(Control|Alt|Super)>|^(<Shift>)?(F\d+|Pause|Scroll_Lock|Print|XF86\w+)$/;

export default class WispExtension extends Extension {
    enable() {
        this._followers = new Map();
        this._grabs = new Map();
        this._cancellable = new Gio.Cancellable();
        const flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT |
            Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION;
        const address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SESSION, null);
        Gio.DBusConnection.new_for_address(address, flags, null, this._cancellable, (_source, result) => {
            try {
                this._answer(Gio.DBusConnection.new_for_address_finish(result));
            } catch (error) {
                if (!error.matches?.(Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED))
                    logError(error, 'Wisp');
            }
        });
    }

    disable() {
        this._cancellable.cancel();
        for (const sender of [...this._followers.keys()])
            this._leave(sender);
        this._exported?.unexport();
        this._connection?.close(null, null);
        this._cancellable = this._exported = this._connection = this._followers = this._grabs = null;
    }

    _answer(connection) {
        this._connection = connection;
        this._exported = Gio.DBusExportedObject.wrapJSObject(INTERFACE, this);
        this._exported.export(connection, PATH);
        Gio.bus_own_name_on_connection(connection, NAME, Gio.BusNameOwnerFlags.DO_NOT_QUEUE, null, null);
    }

    // --- what there is

    List() {
        const listed = windowsNow().filter(isListed);
        const windows = listed.map(describe).reverse();
        return JSON.stringify({windows: isShellInFront() ? [describeShell(), ...windows] : windows});
    }

    Pointer() {
        const [x, y] = global.get_pointer();
        return [x, y];
    }

    At(x, y) {
        if (isShellInFront())
            return SHELL_ITSELF;
        for (let actor = global.stage.get_actor_at_pos(Clutter.PickMode.REACTIVE, x, y); actor;
            actor = actor.get_parent()) {
            if (actor instanceof Meta.WindowActor)
                return actor.meta_window.get_id();
            if (actor === global.window_group)
                return NOTHING;
            if (actor.get_parent() === Main.uiGroup)
                return SHELL_ITSELF;
        }
        return NOTHING;
    }

    // --- what is done

    // It answers when the window lies in front: presses go by what was drawn last.
    ActivateAsync([id], invocation) {
        try {
            Main.activateWindow(find(id));
        } catch (error) {
            invocation.return_gerror(error);
            return;
        }
        global.compositor.get_laters().add(Meta.LaterType.IDLE, () => {
            invocation.return_value(null);
            return GLib.SOURCE_REMOVE;
        });
    }

    Close(id) {
        if (id === SHELL_ITSELF)
            Main.overview.hide();
        else
            find(id).delete(global.get_current_time());
    }

    Minimise(id) {
        find(id).minimize();
    }

    MoveResize(id, x, y, width, height) {
        const window = find(id);
        if (window.is_fullscreen())
            window.unmake_fullscreen();
        // Since GNOME 49 a window tells in one word whether it is maximized, and takes no directions.
        if (window.is_maximized)
            window.unmaximize();
        else
            window.unmaximize(Meta.MaximizeFlags.BOTH);
        window.move_resize_frame(true, x, y, width, height);
    }

    // --- what is told

    FollowAsync([keys], invocation) {
        const sender = invocation.get_sender();
        const typing = Object.values(keys).find(key => !TYPES_NOTHING.test(key));
        if (typing) {
            invocation.return_dbus_error(`${NAME}.Error.KeyTypes`,
                `The key ${typing} is not grabbed: it may be part of what somebody writes.`);
            return;
        }
        this._leave(sender);
        if (this._followers.size === 0)
            this._listen();
        const watch = Gio.bus_watch_name_on_connection(this._connection, sender, Gio.BusNameWatcherFlags.NONE,
            null, () => this._leave(sender));
        this._followers.set(sender, {keys, watch});
        const lost = Object.keys(keys).filter(what => !this._grab(keys[what]));
        invocation.return_value(new GLib.Variant('(as)', [lost]));
    }

    _leave(sender) {
        const follower = this._followers.get(sender);
        if (!follower)
            return;
        this._followers.delete(sender);
        Gio.bus_unwatch_name(follower.watch);
        const wanted = new Set([...this._followers.values()].flatMap(other => Object.values(other.keys)));
        for (const [key, action] of this._grabs) {
            if (!wanted.has(key)) {
                global.display.ungrab_accelerator(action);
                this._grabs.delete(key);
            }
        }
        if (this._followers.size === 0)
            this._stopListening();
    }

    _grab(key) {
        if (this._grabs.has(key))
            return true;
        const action = global.display.grab_accelerator(key, Meta.KeyBindingFlags.NONE);
        if (action === Meta.KeyBindingAction.NONE)
            return false;
        Main.wm.allowKeybinding(Meta.external_binding_name_for_action(action), Shell.ActionMode.ALL);
        this._grabs.set(key, action);
        return true;
    }

    _listen() {
        const changed = () => this._change();
        const followWindow = window => window.connectObject('position-changed', changed, 'size-changed', changed,
            'notify::title', changed, 'notify::minimized', changed, 'unmanaged', changed, this);
        global.display.connectObject('restacked', changed, 'notify::focus-window', changed,
            'window-created', (_display, window) => {
                followWindow(window);
                changed();
            },
            'accelerator-activated', (_display, action) => this._press(action), this);
        global.window_manager.connectObject('map', changed, 'destroy', changed, 'switch-workspace', changed, this);
        Main.overview.connectObject('showing', changed, 'hidden', changed, this);
        windowsNow().forEach(followWindow);
    }

    _stopListening() {
        for (const object of [global.display, global.window_manager, Main.overview, ...windowsNow()])
            object.disconnectObject(this);
        if (this._timer)
            GLib.source_remove(this._timer);
        this._timer = 0;
    }

    _change() {
        this._timer ||= GLib.timeout_add(GLib.PRIORITY_DEFAULT, TOLD_AFTER_MS, () => {
            this._timer = 0;
            for (const [sender, {keys}] of this._followers) {
                if (Object.keys(keys).length === 0)
                    this._tell(sender, 'Changed', null);
            }
            return GLib.SOURCE_REMOVE;
        });
    }

    _press(action) {
        for (const [sender, {keys}] of this._followers) {
            for (const [what, key] of Object.entries(keys)) {
                if (this._grabs.get(key) === action)
                    this._tell(sender, 'Pressed', new GLib.Variant('(s)', [what]));
            }
        }
    }

    _tell(sender, signal, values) {
        this._connection.emit_signal(sender, PATH, NAME, signal, values);
    }
}

// From the lowest to the topmost.
function windowsNow() {
    return global.get_window_actors().map(actor => actor.meta_window).filter(window => window);
}

// A new window has no size until it is drawn for the first time.
function isListed(window) {
    return !UNLISTED.includes(window.window_type) && window.get_frame_rect().width > 0;
}

function find(id) {
    const window = windowsNow().find(one => one.get_id() === id);
    if (!window)
        throw new GLib.Error(Gio.DBusError, Gio.DBusError.INVALID_ARGS, 'There is no such window.');
    return window;
}

function describe(window) {
    const isX11 = window.get_client_type() === Meta.WindowClientType.X11;
    const parent = window.get_transient_for();
    return {
        id: window.get_id(),
        title: window.get_title() ?? '',
        app: window.get_wm_class() ?? '',
        pid: Math.max(window.get_pid(), 0),
        // Without and with the shadow that a program draws around its window.
        frame: rectangle(window.get_frame_rect()),
        surface: rectangle(window.get_buffer_rect()),
        // Only the description of an X11 window tells its number in X.
        x11: isX11 ? parseInt(window.get_description(), 16) || 0 : 0,
        active: window.has_focus() && !isShellInFront(),
        shown: window.showing_on_its_workspace() && window.located_on_workspace(activeWorkspace()),
        workspace: Math.max(window.get_workspace()?.index() ?? 0, 0),
        dialog: DIALOGS.includes(window.window_type),
        parent: parent?.get_id() ?? 0,
        popup: window.is_override_redirect() || MENUS.includes(window.window_type) ||
            TIPS.includes(window.window_type),
        tip: TIPS.includes(window.window_type),
    };
}

// While its overview, a menu of the panel or a question of the system is open, all input goes to the Shell.
function isShellInFront() {
    return Main.actionMode !== Shell.ActionMode.NORMAL;
}

function describeShell() {
    return {
        id: SHELL_ITSELF,
        title: 'GNOME Shell',
        app: 'gnome-shell',
        pid: new Gio.Credentials().get_unix_pid(),
        frame: [0, 0, global.stage.width, global.stage.height],
        surface: [0, 0, global.stage.width, global.stage.height],
        x11: 0,
        active: true,
        shown: true,
        workspace: activeWorkspace().index(),
        dialog: Main.actionMode === Shell.ActionMode.SYSTEM_MODAL,
        parent: 0,
        popup: false,
        tip: false,
    };
}

function activeWorkspace() {
    return global.workspace_manager.get_active_workspace();
}

function rectangle({x, y, width, height}) {
    return [x, y, width, height];
}
