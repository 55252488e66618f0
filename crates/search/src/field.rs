//! The parts of a document that count differently.

/// How many there are.
pub(crate) const FIELDS: usize = 9;

/// A part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Field {
    Name,
    Title,
    Tags,
    Category,
    Server,
    Description,
    Parameters,
    ParameterTexts,
    ServerText,
}

impl Field {
    pub(crate) const ALL: [Self; FIELDS] = [
        Self::Name,
        Self::Title,
        Self::Tags,
        Self::Category,
        Self::Server,
        Self::Description,
        Self::Parameters,
        Self::ParameterTexts,
        Self::ServerText,
    ];

    pub(crate) const fn bit(self) -> u16 {
        1 << self as usize
    }

    /// What an explanation calls it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Tags => "tags",
            Self::Category => "category",
            Self::Server | Self::ServerText => "server",
            Self::Description => "description",
            Self::Parameters | Self::ParameterTexts => "parameters",
        }
    }
}
