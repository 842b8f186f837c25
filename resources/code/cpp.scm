(function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)] @name)) @definition
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier)] @name))) @definition
(function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))) @definition
(class_specifier name: (_) @name body: (_)) @definition
(struct_specifier name: (_) @name body: (_)) @definition
(union_specifier name: (_) @name body: (_)) @definition
(enum_specifier name: (_) @name body: (_)) @definition
(namespace_definition name: (_) @name) @definition
(alias_declaration name: (type_identifier) @name) @definition
