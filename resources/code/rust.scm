(struct_item name: (type_identifier) @name) @definition
(enum_item name: (type_identifier) @name) @definition
(union_item name: (type_identifier) @name) @definition
(trait_item name: (type_identifier) @name) @definition
(type_item name: (type_identifier) @name) @definition
(impl_item type: (_) @name) @definition
(function_item name: (identifier) @name) @definition
(function_signature_item name: (identifier) @name) @definition
(macro_definition name: (identifier) @name) @definition
(mod_item name: (identifier) @name body: (_)) @definition
