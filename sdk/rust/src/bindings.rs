//! The contract as wit-bindgen gives it: all imports in one world, each export in a world of its own.
//!
//! Each world leaves a description of itself in the component, and wit-component joins them. Imports that are not called are dropped
//! there; an export is described only where [`export!`](crate::export) names it. So a component has what it uses and nothing else.

/// All that a provider can ask of the host, and the types.
pub mod imports {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package wharf:sdk-imports;
            world imports {
                import wharf:provider/types@0.1.0;
                import wharf:provider/announce@0.1.0;
                import wharf:provider/settings@0.1.0;
                import wharf:provider/timers@0.1.0;
                import wharf:provider/file-watch@0.1.0;
                import wharf:provider/fetch@0.1.0;
                import wharf:provider/store@0.1.0;
                import wharf:provider/shared-state@0.1.0;
            }
        ",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

pub use imports::wharf::provider::types;

/// One export: a world, its trait and the macro that exports it from the author's crate.
macro_rules! exported {
    ($module:ident, $inline:tt, $($types:tt)*) => {
        #[doc = concat!("The contract's export `", stringify!($module), "`.")]
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                inline: $inline,
                generate_all,
                $($types)*
                pub_export_macro: true,
                additional_derives: [PartialEq],
            });
        }
    };
}

exported!(
    resources,
    "package wharf:sdk-resources; world resources { export wharf:provider/resources@0.1.0; }",
    with: { "wharf:provider/types@0.1.0": crate::bindings::types },
);
exported!(
    subscriptions,
    "package wharf:sdk-subscriptions; world subscriptions { export wharf:provider/subscriptions@0.1.0; }",
    with: { "wharf:provider/types@0.1.0": crate::bindings::types },
);
exported!(
    completions,
    "package wharf:sdk-completions; world completions { export wharf:provider/completions@0.1.0; }",
    with: { "wharf:provider/types@0.1.0": crate::bindings::types },
);
exported!(timers, "package wharf:sdk-timers; world timers { export wharf:provider/timer-handler@0.1.0; }",);
exported!(files, "package wharf:sdk-files; world files { export wharf:provider/file-handler@0.1.0; }",);
exported!(fetch, "package wharf:sdk-fetch; world fetch { export wharf:provider/fetch-handler@0.1.0; }",);
exported!(webhooks, "package wharf:sdk-webhooks; world webhooks { export wharf:provider/webhook-handler@0.1.0; }",);
